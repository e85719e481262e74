#include <cstdio>
int main() {
    int n;
    scanf("%d", &n);
    printf("%d\n%d\n", (n - 1) / 2, n - n / 2);
}
