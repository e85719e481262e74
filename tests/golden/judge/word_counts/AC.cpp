#include <bits/stdc++.h>
using namespace std;
int main() {
    map<string, int> counts;
    for (string word; cin >> word;) counts[word]++;
    vector<pair<string, int>> order(counts.begin(), counts.end());
    stable_sort(order.begin(), order.end(), [](auto &a, auto &b) { return a.second > b.second; });
    for (auto &[word, count] : order) cout << word << ' ' << count << '\n';
}
