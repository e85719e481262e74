#include <bits/stdc++.h>
using namespace std;
int main() {
    int h, w;
    cin >> h >> w;
    vector<string> rows(h);
    for (auto &row : rows) cin >> row;
    vector<vector<int>> far(h, vector<int>(w, -1));
    queue<pair<int, int>> todo;
    far[0][0] = 0;
    todo.push({0, 0});
    while (!todo.empty()) {
        auto [y, x] = todo.front();
        todo.pop();
        for (auto [dy, dx] : {pair{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
            int v = y + dy, u = x + dx;
            if (v < 0 || v >= h || u < 0 || u >= w || rows[v][u] == '#' || far[v][u] >= 0) continue;
            far[v][u] = far[y][x] + 1;
            todo.push({v, u});
        }
    }
    cout << far[h - 1][w - 1] << endl;
}
