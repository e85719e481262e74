#include <cstdio>
#include <numeric>

std::vector<int> root;
int find(int a) { return root[a] == a ? a : root[a] = find(root[a]); }
int main() {
    int n, m, a, b;
    scanf("%d %d", &n, &m);
    root.resize(n + 1);
    std::iota(root.begin(), root.end(), 0);
    int parts = n;
    while (m--) {
        scanf("%d %d", &a, &b);
        a = find(a), b = find(b);
        if (a != b) root[a] = b, parts--;
    }
    printf("%d\n", parts);
}
