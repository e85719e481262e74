#include <algorithm>
#include <iostream>
#include <iterator>
#include <vector>
int main() {
    std::vector<int> a{std::istream_iterator<int>(std::cin), {}};
    std::sort(a.begin(), a.end());
    std::cout << a.at(a.size() - 1) << "\n";
}
