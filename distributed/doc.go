// Package distributed is the table algebra over the ranks of a [collective.Comm]. A [Table]
// is the part of a table that this rank has, and the Comm over which the other ranks have
// theirs: the rows of rank 0, then those of rank 1, and so on. A method is a collective
// call: every rank makes the same ones in the same order, a table in, a table out, and each
// rank's work is done by package table.
//
// All ranks agree on the operation, its arguments and the columns before rows move. What
// they do not agree on, and what goes wrong on one rank, is one [agree.Error] on all of
// them, after which the Comm goes on. A rank that is lost is a [collective.Fault]. A rank
// without rows takes part in every step; its columns, and columns of type null, take the types
// that the other ranks have. Nothing else is converted, but that the indices of
// dictionaries may become wider.
//
// Every operation says in which order its rows are. Results are the same for any kind of device and any
// chunking, and where an operation says so for any number of ranks.
package distributed
