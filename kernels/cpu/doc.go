// Package cpu has the kernels that run on the host's processors, in tiers:
// generic is plain Go that every processor runs; avx2 and avx512 add generated
// assembly. Work is cut into morsels that a pool of GOMAXPROCS workers takes one
// after another; where results are combined the cut depends on the length alone,
// so that the number of workers never changes a result.
//
// # Tiers
//
// A kernel is written once, in Go. What it does to a run of values it asks of a
// loop: a function in a field of loops, which the kernel is a method of or gets
// as an argument. A tier is a copy of the loops of the tier below with some
// fields overwritten, and a Set over them, all values: every tier up to the
// processor's is there at once and is tested so (Tiers), New takes the best or
// the one that VOLLEY_CPU names. Whether the processor has an instruction is
// looked at in tiers_amd64.go and nowhere else, least of all in assembly.
//
// Loops of one family share a stem:
//
//	loops_foo.go              type fooLoops, the loops in Go, goFooLoops
//	loops_foo_amd64.go        (*fooLoops).avx2 and avx512: what they overwrite
//	../../internal/asmgen/foo.go   the program that writes the assembly
//	foo_avx2_amd64.s, .go     written by it: go generate, or scripts/asm.sh
//	foo_avx512_amd64.s, .go
//	loops_foo_test.go         every tier against the loop in Go, see tiers_test.go
//
// and a line each in loops, goLoops (loops.go), avx2, avx512 (tiers_amd64.go) and
// stems (internal/asmgen/stems.go). The loop in Go is the documentation of the
// field and the oracle of its test; all tiers give the same bits, sums of floats
// too: their shape is part of what the loop in Go says, and no tier contracts a
// multiplication and an addition unless it says so. Assembly takes whole steps,
// the Go function round it does the rest, so nothing is read or written beyond a
// slice.
//
// A loop is there because it measured faster than the one in Go: its comment says
// by how much and what bounds it. docs/performance/loops.md lists those that were
// tried and gained nothing.
//
// The build tag purego leaves the assembly out.
package cpu

//go:generate go run -C ../../internal/asmgen .
