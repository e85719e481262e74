#include <bits/stdc++.h>
int main() {
    int n;
    scanf("%d", &n);
    std::vector<double> x(n), y(n);
    for (int i = 0; i < n; i++) scanf("%lf %lf", &x[i], &y[i]);
    double area = 0, perimeter = 0;
    for (int i = 0; i < n; i++) {
        int j = (i + 1) % n;
        area += x[i] * y[j] - x[j] * y[i];
        perimeter += hypot(x[i] - x[j], y[i] - y[j]);
    }
    printf("%.10e %.10f\n", std::abs(area) / 2, perimeter);
}
