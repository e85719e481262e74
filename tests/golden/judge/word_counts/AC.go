package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Split(bufio.ScanWords)
	counts := map[string]int{}
	for in.Scan() {
		counts[in.Text()]++
	}
	words := []string{}
	for word := range counts {
		words = append(words, word)
	}
	sort.Slice(words, func(i, j int) bool {
		a, b := words[i], words[j]
		return counts[a] > counts[b] || counts[a] == counts[b] && a < b
	})
	for _, word := range words {
		fmt.Println(word, counts[word])
	}
}
