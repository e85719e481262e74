// verdicts: CE MLE RE
// why: 4 GB of data
// compile_timeout_s: 1
package main

var data = [4 << 30]byte{1: 1, 4<<30 - 1: 1}

func main() {
	for i := range data {
		data[i] = 1
	}
}
