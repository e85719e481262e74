// verdicts: CE
// why: puts a file of the host into the program
package main

import (
	_ "embed"
	"fmt"
)

//go:embed /etc/passwd
var absolute string

//go:embed ../../etc/passwd
var relative string

func main() { fmt.Println(absolute, relative) }
