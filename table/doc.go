// Package table holds tables and their algebra. A Table is data on a backend,
// in chunks; a Query is a plan over tables and files, chained and then run by
// Collect or Batches.
//
// Columns are named by strings, and conditions and computed columns are
// expressions of package expr or their text. Names and types are checked when a
// plan runs or is explained: an unknown column is a device.ErrMismatch that
// shows the names near it. A plan is optimised first: conditions move down into
// the readers of files, and columns that nothing reads are not read.
//
// Nulls follow SQL and Arrow: Filter drops rows for which the condition is null,
// aggregates skip nulls, null is a group of its own, null keys match nothing in a
// join, and sorting puts nulls last. NaNs are equal as keys, and -0 equals 0.
// Rows keep their order, joins give left order and then right order, and groups
// come in order of first appearance; AnyOrder gives that up for speed.
//
// Tables and batches are counted by Retain and Release, and immutable, so that
// any number of queries may read one at the same time.
package table
