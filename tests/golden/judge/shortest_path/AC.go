package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	var h, w int
	fmt.Fscan(in, &h, &w)
	rows := make([]string, h)
	far := make([][]int, h)
	for i := range rows {
		fmt.Fscan(in, &rows[i])
		far[i] = make([]int, w)
		for j := range far[i] {
			far[i][j] = -1
		}
	}
	far[0][0] = 0
	todo := [][2]int{{0, 0}}
	for len(todo) > 0 {
		y, x := todo[0][0], todo[0][1]
		todo = todo[1:]
		for _, d := range [][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			v, u := y+d[0], x+d[1]
			if v < 0 || v >= h || u < 0 || u >= w || rows[v][u] == '#' || far[v][u] >= 0 {
				continue
			}
			far[v][u] = far[y][x] + 1
			todo = append(todo, [2]int{v, u})
		}
	}
	fmt.Println(far[h-1][w-1])
}
