package main

import (
	"fmt"
	"time"
)

func main() {
	var word string
	fmt.Scan(&word)
	time.Sleep(300 * time.Millisecond)
	fmt.Println(word)
}
