// verdicts: CE AC
// why: parentheses deeper than the parser's stack
// compile_timeout_s: 3
package main

import "fmt"

var value = @repeat(200000, "(")@1@repeat(200000, ")")@

func main() { fmt.Println(map[bool]string{true: "contained"}[value == 1]) }
