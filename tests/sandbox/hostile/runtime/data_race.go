// verdicts: RE TLE
// why: concurrent writes to a map, which the runtime notices sooner or later
// time_limit_s: 1
package main

func main() {
	shared := map[int]int{}
	for i := 0; i < 8; i++ {
		go func() {
			for j := 0; ; j++ {
				shared[j%1000] = j
			}
		}()
	}
	select {}
}
