package main

import "fmt"

func main() {
	var n, count int
	fmt.Scan(&n)
	composite := make([]bool, n+1)
	for p := 2; p <= n; p++ {
		if composite[p] {
			continue
		}
		count++
		for q := p * p * p; q <= n; q += p {
			composite[q] = true
		}
	}
	fmt.Println(count)
}
