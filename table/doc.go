// Package table holds tables and their algebra. A Table is data on a backend,
// in chunks; a Query is a plan over tables and files, chained and then run by
// Collect or Batches.
package table
