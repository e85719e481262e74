#include <iostream>
#include <vector>
int main() {
    int n, count = 0;
    std::cin >> n;
    std::vector<bool> composite(n + 1);
    for (int p = 2; p <= n; p++) {
        if (composite[p]) continue;
        count++;
        for (long long q = 1LL * p * p; q <= n; q += p) composite[q] = true;
    }
    std::cout << count << std::endl;
}
