// verdicts: AC CE TLE
// why: twenty thousand functions and variables that depend on each other
// compile_timeout_s: 5
// time_limit_s: 1
package main

import "fmt"

@repeat(5000, "var v%d = f%d()\nfunc f%d() int { return %d }\n")@
func main() { fmt.Println("contained") }
