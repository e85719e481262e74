// verdicts: CE
// why: NUL bytes and a byte order mark in the middle of the source
package main

func main() { println("@repeat(3, "\u0000\ufeff")@") }
