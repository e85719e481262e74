package main

import (
	"fmt"
	"sort"
)

func main() {
	var a []int
	var x int
	for n, _ := fmt.Scan(&x); n == 1; n, _ = fmt.Scan(&x) {
		a = append(a, x)
	}
	sort.Ints(a)
	if len(a) == 0 {
		fmt.Println("none")
		return
	}
	fmt.Println(a[len(a)-1])
}
