// verdicts: RE
// why: raw system calls and pointers: no memory safety to rely on
package main

import (
	"syscall"
	"unsafe"
)

func main() {
	for call := uintptr(330); call < 470; call++ {
		if call == 435 { // clone3 would go on in a child
			continue
		}
		syscall.RawSyscall6(call, ^uintptr(0), 0, 0, 0, 0, 0)
	}
	*(*int)(unsafe.Pointer(uintptr(8))) = 1
}
