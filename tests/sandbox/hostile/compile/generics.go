// verdicts: CE
// why: types that instantiate ever larger ones
// compile_timeout_s: 2
package main

type Pair[A, B any] struct {
	first  A
	second B
}

func grow[T any](n int, x T) {
	if n > 0 {
		grow(n-1, Pair[T, T]{x, x})
	}
}

func main() { grow(100, 1) }
