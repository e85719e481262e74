#include <bits/stdc++.h>
using namespace std;
int best[1001][1001];
int main() {
    string a, b;
    cin >> a >> b;
    for (int i = 0; i <= (int)a.size(); i++)
        for (int j = 0; j <= (int)b.size(); j++) {
            best[i][j] = i + j;
            if (i && j)
                best[i][j] = min({best[i - 1][j] + 1, best[i][j - 1] + 1, best[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
        }
    cout << best[a.size()][b.size()] << '\n';
}
