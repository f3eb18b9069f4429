// Package cpu has the kernels that run on the host's processors, in tiers, of
// which generic is plain Go that every processor runs. Work is cut into morsels
// that a pool of GOMAXPROCS workers takes one after another; where results are
// combined the cut depends on the length alone, so that the number of workers
// never changes a result.
package cpu
