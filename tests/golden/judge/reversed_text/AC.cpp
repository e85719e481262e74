#include <algorithm>
#include <iostream>
#include <string>
int main() {
    std::string line, out;
    std::getline(std::cin, line);
    for (size_t end = line.size(); end > 0;) {
        size_t begin = end - 1;
        while ((line[begin] & 0xC0) == 0x80) begin--;
        out += line.substr(begin, end - begin);
        end = begin;
    }
    std::cout << out << "\n";
}
