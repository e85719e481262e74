#include <iostream>
int main() {
    int n;
    std::cin >> n;
    unsigned long long a = 0, b = 1;
    while (n--) {
        unsigned long long c = a + b;
        a = b, b = c;
    }
    std::cout << a << "\n";
}
