// verdicts: CE
// why: directives that only the standard library and cgo may use
package main

//go:cgo_import_dynamic libc_puts puts "libc.so.6"
//go:cgo_import_dynamic _ _ "libc.so.6"
//go:cgo_ldflag "-Wl,/etc/passwd"

import "fmt"

func main() { fmt.Println("contained") }
