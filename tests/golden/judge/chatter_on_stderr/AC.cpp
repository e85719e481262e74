#include <iostream>
#include <string>
int main() {
    std::string digits;
    std::cin >> digits;
    for (int i = 0; i < 1000; i++) std::cerr << std::string(1000, 'x');
    std::cout << digits.size() << "\n";
}
