// verdicts: RE MLE
// why: locks goroutines to threads of their own; Go's runtime gives up when it gets no more of them
// time_limit_s: 2
package main

import (
	"fmt"
	"runtime"
	"time"
)

func main() {
	locked := make(chan bool)
	for i := 0; i < 5000; i++ {
		go func() {
			runtime.LockOSThread()
			locked <- true
			time.Sleep(time.Minute)
		}()
		runtime.Gosched()
	}
	for i := 0; i < 5000; i++ {
		<-locked
	}
	fmt.Println("5000 threads")
}
