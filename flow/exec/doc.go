// Package exec runs pipelines: each worker takes the next morsel of a source and
// carries it through all operators while it lies in that core's cache. No worker
// waits for another between operators.
//
// There are two contracts. An Operator is a plan: it is immutable, and makes a
// State for each worker. A State is used by one goroutine: it takes a morsel and
// emits the batches that come after it. A Pipeline gives what its last operator
// emits in the order of the source's rows, whichever worker made it, and an
// error where its morsel's rows would have come.
//
// Morsels are fixed parts of what a source gives, so that results do not depend on
// the number of workers: rows [0, MorselRows) of a batch, then the next MorselRows.
package exec
