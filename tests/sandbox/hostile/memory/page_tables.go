// verdicts: MLE RE
// why: a page table for each 2 MiB of 400 GB of address space that is only read: 800 MB that are resident in no process
// memory_limit_mb: 64
package main

import (
	"fmt"
	"syscall"
)

func main() {
	const total = 400 << 30
	memory, err := syscall.Mmap(-1, 0, total, syscall.PROT_READ, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	syscall.Madvise(memory, 15)
	sum := 0
	for at := 0; at < total; at += 2 << 20 {
		sum += int(memory[at])
	}
	fmt.Println("contained", sum)
}
