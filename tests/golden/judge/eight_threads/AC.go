package main

import (
	"fmt"
	"sync"
)

func main() {
	var n int
	fmt.Scan(&n)
	var group sync.WaitGroup
	parts := make([]int, 8)
	for k := 0; k < 8; k++ {
		group.Add(1)
		go func(k int) {
			defer group.Done()
			for i := k; i <= n; i += 8 {
				parts[k] = (parts[k] + i*i) % 1000003
			}
		}(k)
	}
	group.Wait()
	total := 0
	for _, part := range parts {
		total += part
	}
	fmt.Println(total % 1000003)
}
