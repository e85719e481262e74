#include <array>
#include <iostream>
using Matrix = std::array<std::array<long long, 3>, 3>;
Matrix product(const Matrix &a, const Matrix &b) {
    Matrix c{};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) c[i][j] = (c[i][j] + a[i][k] * b[k][j]) % 1000000007;
    return c;
}
int main() {
    long long n;
    std::cin >> n;
    Matrix result{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, base{{{1, 1, 1}, {1, 0, 0}, {0, 1, 0}}};
    for (; n; n--)
        result = product(result, base);
    std::cout << result[2][0] << "\n";
}
