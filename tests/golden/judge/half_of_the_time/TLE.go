package main

import "fmt"

func main() {
	var n, x int64
	fmt.Scan(&n)
	for repeat := 0; repeat < 1000; repeat++ {
		x = 1
		for i := int64(0); i < n; i++ {
			x = (x*48271 + i) % 2147483647
		}
	}
	fmt.Println(x)
}
