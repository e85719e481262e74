#include <iostream>
int main() {
    long long n, x = 1;
    std::cin >> n;
    for (int repeat = 0; repeat < 1000; repeat++) {
        x = 1;
        for (long long i = 0; i < n; i++) x = (x * 48271 + i) % 2147483647;
    }
    std::cout << x << "\n";
}
