package main

import "fmt"

func main() {
	var a, b int
	for n, _ := fmt.Scan(&a, &b); n == 2; n, _ = fmt.Scan(&a, &b) {
		if b == 0 {
			fmt.Println("error")
		} else {
			fmt.Println(a / b)
		}
	}
}
