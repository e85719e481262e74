// verdicts: TLE
// why: busy loops in as many goroutines as there are threads
// time_limit_s: 0.3
package main

func main() {
	for i := 0; i < 8; i++ {
		go func() {
			for {
			}
		}()
	}
	for {
	}
}
