package main

import "fmt"

func main() {
	var n int
	fmt.Scan(&n)
	var total, x int64
	for i := 0; i < n; i++ {
		fmt.Scan(&x)
		total += x
	}
	fmt.Println(total)
}
