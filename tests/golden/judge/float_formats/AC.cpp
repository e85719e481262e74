#include <iomanip>
#include <iostream>
int main() {
    double x;
    std::cout << std::fixed << std::setprecision(12);
    while (std::cin >> x) std::cout << x / 3 << "\n";
}
