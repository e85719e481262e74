#include <iostream>
int main() {
    int n;
    std::cin >> n;
    int total = 0, x;
    while (n--) std::cin >> x, total += x;
    std::cout << total << "\n";
}
