package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var n, m, a, b int
	fmt.Fscan(in, &n, &m)
	root := make([]int, n+1)
	for i := range root {
		root[i] = i
	}
	find := func(a int) int {
		for root[a] != a {
			root[a] = root[root[a]]
			a = root[a]
		}
		return a
	}
	parts := n
	for ; m > 0; m-- {
		fmt.Fscan(in, &a, &b)
		a, b = find(a), find(b)
		if a != b {
			root[a] = b
			parts--
		}
	}
	fmt.Println(parts)
}
