// verdicts: AC
// tried_exec: yes
// time_limit_s: 3
// why: starts programs by os/exec, by the calls below it and by bare system calls, from many threads too
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

func main() {
	got := 0
	for _, path := range []string{"/bin/sh", "/usr/bin/python3", "/proc/self/exe", "/box/main"} {
		argv := []string{path, "-c", "echo started"}
		if exec.Command(path, "-c", "echo started").Run() == nil {
			got++
		}
		if _, err := os.StartProcess(path, argv, &os.ProcAttr{}); err == nil {
			got++
		}
		if _, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{}); err == nil {
			got++
		}
		if syscall.Exec(path, argv, os.Environ()) == nil {
			got++
		}
		name, _ := syscall.BytePtrFromString(path)
		vector, _ := syscall.SlicePtrFromStrings(argv)
		at, first := uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&vector[0]))
		var all sync.WaitGroup
		for i := 0; i < 8; i++ {
			all.Add(1)
			go func() {
				runtime.LockOSThread()
				syscall.RawSyscall(syscall.SYS_EXECVE, at, first, 0)
				syscall.RawSyscall6(322, ^uintptr(99), at, first, 0, 0, 0)
				all.Done()
			}()
		}
		all.Wait()
	}
	if got == 0 {
		fmt.Println("contained")
	}
}
