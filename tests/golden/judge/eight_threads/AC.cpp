#include <iostream>
#include <thread>
#include <vector>
int main() {
    long long n, total = 0;
    std::cin >> n;
    std::vector<long long> parts(8);
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; k++)
        threads.emplace_back([&, k] {
            for (long long i = k; i <= n; i += 8) parts[k] = (parts[k] + i * i) % 1000003;
        });
    for (auto &thread : threads) thread.join();
    for (long long part : parts) total += part;
    std::cout << total % 1000003 << "\n";
}
