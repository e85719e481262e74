#include <algorithm>
#include <iostream>
#include <string>
std::string text;
size_t at = 0;
int depth() {
    int deepest = 0;
    while (at < text.size() && text[at] == '(') {
        at++;
        deepest = std::max(deepest, 1 + depth());
        at++;
    }
    return deepest;
}
int main() {
    std::cin >> text;
    if (text.size() > 100) return 1;
    std::cout << depth() << "\n";
}
