// verdicts: CE AC
// why: reaches into the runtime's private functions
package main

import (
	"fmt"
	_ "unsafe"
)

//go:linkname exit runtime.exit
func exit(code int32)

//go:linkname fastrand runtime.fastrand
func fastrand() uint32

func main() {
	fmt.Println("contained")
	exit(int32(fastrand() & 0))
}
