// Package storage reads and writes tables as Parquet, CSV and Arrow IPC (file
// and stream).
//
// Scan functions give a table.Source, which reads nothing until a query runs
// and then only the columns that the query uses, and of a Parquet file only
// the row groups that can hold rows it asks for. Read functions give a whole
// table. Write functions write to a temporary file beside the target and
// rename it at the end: a failure or a cancelled context leaves no half file.
//
// Files are read in parallel: a scan gives splits, which are row groups or parts
// of these (Parquet), record batches (IPC file) and blocks of text (CSV). The
// workers of the pipeline that reads a split do all of its steps; the rows come
// in the file's order all the same. Memory comes from the device's allocator; where
// that has a limit, reading past it is an ErrOutOfMemory.
//
// A file is not trusted: numbers in it are held against its size before
// anything is allocated by them, columns are validated before they are handed
// out, and whatever a decoder makes of damaged bytes becomes an error that
// names the file and the row group, batch, or line.
package storage
