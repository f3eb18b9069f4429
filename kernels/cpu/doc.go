// Package cpu has the kernels that run on the host's processors, in tiers:
// generic Go first, vector assembly above it. Work is cut into morsels that a
// pool of GOMAXPROCS workers takes one after another; where results are
// combined the cut depends on the length alone, so that the number of workers
// never changes a result.
package cpu
