#include <iostream>
#include <vector>
int main() {
    long long n, k, x = 1, total = 0;
    std::cin >> n >> k;
    std::vector<long long> table(n, 7);
    for (int i = 0; i < k; i++) {
        x = (x * 1103515245 + 12345) % (1LL << 31);
        total += table[x % n];
        table[x % n] = i % 251;
    }
    std::cout << total << "\n";
}
