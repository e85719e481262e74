#include <algorithm>
#include <iostream>
#include <string>
int main() {
    std::string line, out;
    std::getline(std::cin, line);
    for (size_t end = line.size(); end > 0;) {
        size_t begin = end - 1;
        
        out += line.substr(begin, end - begin);
        end = begin;
    }
    std::cout << out << "\n";
}
