#include <cstdio>
int main() {
    long long n;
    scanf("%lld", &n);
    for (long long i = 0; i < n; i++) printf("%lld\n", i * i);
}
