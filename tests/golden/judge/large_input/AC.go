package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

func main() {
	in, count := bufio.NewScanner(os.Stdin), 0
	for in.Scan() {
		if strings.Contains(in.Text(), "7") {
			count++
		}
	}
	fmt.Println(count)
}
