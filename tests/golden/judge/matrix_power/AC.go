package main

import "fmt"

type matrix [3][3]int

func product(a, b matrix) (c matrix) {
	for i := range a {
		for j := range a {
			for k := range a {
				c[i][j] = (c[i][j] + a[i][k]*b[k][j]) % 1000000007
			}
		}
	}
	return c
}

func main() {
	var n int
	fmt.Scan(&n)
	result, base := matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, matrix{{1, 1, 1}, {1, 0, 0}, {0, 1, 0}}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = product(result, base)
		}
		base = product(base, base)
	}
	fmt.Println(result[2][0])
}
