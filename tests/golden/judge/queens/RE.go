package main

import "fmt"

var n int

func ways(row, columns, up, down int) int {
	if row == n {
		return 1
	}
	count := 0
	for c := 0; c < n; c++ {
		a, b, d := 1<<c, 1<<(row+c), 1<<(row-c)
		if columns&a == 0 && up&b == 0 && down&d == 0 {
			count += ways(row+1, columns|a, up|b, down|d)
		}
	}
	return count
}

func main() {
	fmt.Scan(&n)
	fmt.Println(ways(0, 0, 0, 0))
}
