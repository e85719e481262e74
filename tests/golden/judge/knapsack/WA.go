package main

import "fmt"

func main() {
	var n, capacity, weight, worth int
	fmt.Scan(&n, &capacity)
	best := make([]int, capacity+1)
	for ; n > 0; n-- {
		fmt.Scan(&weight, &worth)
		for left := weight; left <= capacity; left++ {
			if best[left-weight]+worth > best[left] {
				best[left] = best[left-weight] + worth
			}
		}
	}
	fmt.Println(best[capacity])
}
