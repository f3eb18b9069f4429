// Package columnar is the suite of single operations over columns: each on
// data made from a seed, its answer held against plain Go loops, with its time
// and the peak memory of the process.
package columnar
