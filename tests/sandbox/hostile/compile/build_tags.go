//go:build ignore && windows
// verdicts: CE AC
// why: a file that its own first line excludes

package main

import "fmt"

func main() { fmt.Println("contained") }
