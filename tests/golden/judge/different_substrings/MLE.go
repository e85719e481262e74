package main

import "fmt"

func main() {
	var word string
	fmt.Scan(&word)
	all := map[string]bool{}
	for i := range word {
		for j := i + 1; j <= len(word); j++ {
			all[string([]byte(word[i:j]))] = true
		}
	}
	fmt.Println(len(all))
}
