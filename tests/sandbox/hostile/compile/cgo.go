// verdicts: CE
// why: C code in a Go program, compiled with flags of the program's choice
package main

/*
#cgo LDFLAGS: -Wl,-rpath,/tmp
#include "/etc/passwd"
*/
import "C"

func main() { C.puts(C.CString("contained")) }
