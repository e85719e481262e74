#include <cctype>
#include <cstdio>
int main() {
    for (int c; (c = getchar()) != EOF;) putchar(toupper(c));
    return 0;
}
