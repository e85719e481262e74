// verdicts: RE
// why: Go's runtime notices that all goroutines sleep
package main

import "fmt"

func main() {
	fmt.Println("contained")
	<-make(chan int)
}
