#include <chrono>
#include <iostream>
#include <string>
#include <thread>
int main() {
    std::string word;
    std::cin >> word;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::cout << word << "\n";
}
