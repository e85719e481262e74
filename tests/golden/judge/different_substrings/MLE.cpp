#include <iostream>
#include <set>
#include <string>
int main() {
    std::string word;
    std::cin >> word;
    std::set<std::string> all;
    for (size_t i = 0; i < word.size(); i++)
        for (size_t n = 1; i + n <= word.size(); n++) all.insert(word.substr(i, n));
    std::cout << all.size() << "\n";
}
