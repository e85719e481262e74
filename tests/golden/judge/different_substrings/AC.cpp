#include <algorithm>
#include <iostream>
#include <string>
#include <vector>
int main() {
    std::string word;
    std::cin >> word;
    std::vector<std::string> suffixes;
    for (size_t i = 0; i < word.size(); i++) suffixes.push_back(word.substr(i));
    std::sort(suffixes.begin(), suffixes.end());
    long long total = 0;
    for (size_t i = 0; i < suffixes.size(); i++) {
        size_t same = 0;
        while (i && same < suffixes[i].size() && same < suffixes[i - 1].size() && suffixes[i][same] == suffixes[i - 1][same]) same++;
        total += suffixes[i].size() - same;
    }
    std::cout << total << "\n";
}
