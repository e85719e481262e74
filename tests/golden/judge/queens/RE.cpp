#include <iostream>
int ways(int n, int row, int columns, int up, int down) {
    if (row == 2 * n) return 1;
    if (row == n) throw n;
    int count = 0;
    for (int c = 0; c < n; c++)
        if (!(columns >> c & 1) && !(up >> (row + c) & 1) && !(down >> (row - c + n) & 1))
            count += ways(n, row + 1, columns | 1 << c, up | 1 << (row + c), down | 1 << (row - c + n));
    return count;
}
int main() {
    int n;
    std::cin >> n;
    std::cout << ways(n, 0, 0, 0, 0) << "\n";
}
