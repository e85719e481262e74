// verdicts: RE
// why: a panic in a goroutine after the right output
package main

import (
	"fmt"
	"time"
)

func main() {
	fmt.Println("contained")
	go func() {
		var nothing map[string]int
		nothing["x"] = 1
	}()
	time.Sleep(time.Minute)
}
