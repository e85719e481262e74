#include <algorithm>
#include <iostream>
#include <string>
using namespace std;
string add(const string &a, const string &b) { // digits from the lowest
    string sum;
    int carry = 0;
    for (size_t i = 0; i < max(a.size(), b.size()) || carry; i++) {
        carry += (i < a.size() ? a[i] - '0' : 0) + (i < b.size() ? b[i] - '0' : 0);
        sum += char('0' + carry % 10);
        carry /= 10;
    }
    return sum;
}
int main() {
    int n;
    cin >> n;
    string a = "0", b = "1";
    while (n--) {
        string c = add(a, b);
        a = b, b = c;
    }
    reverse(a.begin(), a.end());
    cout << a << "\n";
}
