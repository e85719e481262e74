#include <algorithm>
#include <iostream>
#include <string>
#include <vector>
int main() {
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    std::cout << std::count_if(lines.begin(), lines.end(), [](auto &line) { return line.find('7') != line.npos; });
}
