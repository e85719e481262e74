// verdicts: RE MLE
// why: Go's stacks grow to 1 GB: its own limit, or the memory's
// time_limit_s: 3
package main

import "fmt"

func down(n int) int {
	var frame [256]int
	frame[n%256] = n
	return down(n+1) + frame[0]
}

func main() { fmt.Println(down(0)) }
