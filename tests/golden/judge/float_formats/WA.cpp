#include <iomanip>
#include <iostream>
int main() {
    double x;
    std::cout << std::fixed << std::setprecision(1);
    while (std::cin >> x) std::cout << x / 3 << "\n";
}
