package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	var digits string
	fmt.Scan(&digits)
	for i := 0; i < 1000; i++ {
		fmt.Fprint(os.Stderr, strings.Repeat("x", 1000))
	}
	fmt.Println(len(digits))
}
