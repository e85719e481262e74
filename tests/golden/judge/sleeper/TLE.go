package main

import (
	"fmt"
	"time"
)

func main() {
	var word string
	fmt.Scan(&word)
	time.Sleep(time.Hour)
	fmt.Println(word)
}
