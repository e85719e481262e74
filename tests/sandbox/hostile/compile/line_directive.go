// verdicts: CE
// why: names other files as the place of an error
package main

//line /etc/passwd:1
func main() { undeclared() }

//line /proc/self/environ:1:1
func other() { undeclared() }
