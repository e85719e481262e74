package main

import "fmt"

func main() {
	var x float64
	for n, _ := fmt.Scan(&x); n == 1; n, _ = fmt.Scan(&x) {
		fmt.Printf("%g\n", x/3)
	}
}
