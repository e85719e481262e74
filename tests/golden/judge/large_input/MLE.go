package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	text, _ := io.ReadAll(os.Stdin)
	lines := strings.Split(string(text), "\n")
	var digits [][]int
	for _, line := range lines {
		numbers := []int{}
		for _, c := range line {
			numbers = append(numbers, int(c-'0'))
		}
		digits = append(digits, numbers)
	}
	count := 0
	for _, line := range digits {
		for _, digit := range line {
			if digit == 7 {
				count++
				break
			}
		}
	}
	fmt.Println(count)
}
