package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	var n int
	fmt.Scan(&n)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for i := 0; i < n || i > 3; i++ {
		fmt.Fprintln(out, i*i)
	}
}
