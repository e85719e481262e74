#include <bits/stdc++.h>
using namespace std;
int main() {
    int n;
    scanf("%d", &n);
    vector<int> a(n);
    for (int &x : a) scanf("%d", &x);
    sort(a.begin(), a.end());
    for (int x : a) printf("%d ", x);
}
