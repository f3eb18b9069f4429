// Package numa says which processors lie beside which memory, and keeps threads
// there. A page of memory lies at the node whose processor first writes to it, so
// workers that keep to their node and to their part of the rows write results, and
// later read them again, in memory of their own.
package numa

// Node is the processors beside one part of the memory.
type Node struct {
	ID   int   // the system's number
	CPUs []int // the system's numbers of those that this process may use, rising; at least one
}
