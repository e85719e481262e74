package main

import "fmt"

func main() {
	var n, k int
	fmt.Scan(&n, &k)
	table := make([]int, n)
	for i := range table {
		table[i] = 7
	}
	x, total := 1, 0
	for i := 0; i < k; i++ {
		x = (x*1103515245 + 12345) % (1 << 31)
		total += table[x%n]
		table[x%n] = i % 251
	}
	fmt.Println(total)
}
