#include <algorithm>
#include <cstdio>
#include <vector>
int main() {
    int n, capacity, weight, worth;
    scanf("%d %d", &n, &capacity);
    std::vector<int> best(capacity + 1);
    while (n--) {
        scanf("%d %d", &weight, &worth);
        for (int left = weight; left <= capacity; left++) best[left] = std::max(best[left], best[left - weight] + worth);
    }
    printf("%d\n", best[capacity]);
}
