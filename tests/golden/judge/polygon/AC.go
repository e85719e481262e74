package main

import (
	"fmt"
	"math"
)

func main() {
	var n int
	fmt.Scan(&n)
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		fmt.Scan(&x[i], &y[i])
	}
	area, perimeter := 0.0, 0.0
	for i := range x {
		j := (i + 1) % n
		area += x[i]*y[j] - x[j]*y[i]
		perimeter += math.Hypot(x[i]-x[j], y[i]-y[j])
	}
	fmt.Println(math.Abs(area)/2, perimeter)
}
