#include <iostream>
int main() {
    int n;
    std::cin >> n;
    long long total = 0, x;
    while (n--) std::cin >> x, total += x;
    std::cout << total << "\n";
}
