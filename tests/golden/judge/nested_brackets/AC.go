package main

import (
	"bufio"
	"fmt"
	"os"
)

var text string
var at int

func depth() int {
	deepest := 0
	for at < len(text) && text[at] == '(' {
		at++
		if d := 1 + depth(); d > deepest {
			deepest = d
		}
		at++
	}
	return deepest
}

func main() {
	fmt.Fscan(bufio.NewReader(os.Stdin), &text)
	fmt.Println(depth())
}
