// verdicts: MLE
// why: Go's runtime has no heap limit of its own
// time_limit_s: 10
package main

func main() {
	var held [][]byte
	for {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		held = append(held, block)
	}
}
