// Package peers races operations over columns against other libraries on the
// same arrays: DuckDB, Polars, pyarrow with Acero, DataFusion, pandas and NumPy.
//
// Each peer is one long-lived Python process ([Worker]) that takes commands
// through a pipe and input as Arrow files, laid out as the peer likes them best
// before any clock runs. Where a peer has several ways to an operation each is
// tried, and the fastest one races. Results are equal when their fingerprints
// are (fingerprint.go): row counts, hashes of rows in any order or in order,
// and weighted sums of what is computed in floating point.
//
// Peers and ours take turns, in an order that moves on by one each round. The
// machine's arithmetic and memory are measured between rounds, and a round
// beside which either fell is run again.
//
// What memory an operation needs is measured apart ([Needs]), each engine's in a
// new process.
package peers
