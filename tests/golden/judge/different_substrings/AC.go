package main

import (
	"fmt"
	"sort"
)

func main() {
	var word, last string
	fmt.Scan(&word)
	suffixes := make([]string, len(word))
	for i := range word {
		suffixes[i] = word[i:]
	}
	sort.Strings(suffixes)
	total := 0
	for _, suffix := range suffixes {
		same := 0
		for same < len(suffix) && same < len(last) && suffix[same] == last[same] {
			same++
		}
		total += len(suffix) - same
		last = suffix
	}
	fmt.Println(total)
}
