// verdicts: CE
// why: constants that double in length with every line
// compile_timeout_s: 1
package main

const (
	a = 1 << 500
	b = a * a * a * a
	c = b * b * b * b
	d = "x@repeat(1000, "x")@"
	e = d + d + d + d + d + d + d + d + d + d
	f = e + e + e + e + e + e + e + e + e + e
	g = f + f + f + f + f + f + f + f + f + f
	h = g + g + g + g + g + g + g + g + g + g
	i = h + h + h + h + h + h + h + h + h + h
	j = i + i + i + i + i + i + i + i + i + i
	k = j + j + j + j + j + j + j + j + j + j
)

func main() { println(c, k[5]) }
