package main

import "fmt"

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func main() {
	var a, b string
	fmt.Scan(&a, &b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		last := row[0]
		row[0] = 0
		for j := range b {
			kept := last
			if a[i] != b[j] {
				kept++
			}
			last = row[j+1]
			row[j+1] = min(kept, min(row[j], row[j+1])+1)
		}
	}
	fmt.Println(row[len(b)])
}
