#include <cstdio>
int main() {
    static char piece[65536];
    int count = 0;
    bool found = false;
    while (size_t n = fread(piece, 1, sizeof piece, stdin))
        for (size_t i = 0; i < n; i++) {
            found |= piece[i] == '7';
            if (piece[i] == '\n') count += found, found = false;
        }
    printf("%d\n", count);
}
