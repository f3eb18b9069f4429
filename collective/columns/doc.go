// Package columns moves the columns of tables between ranks without serialising them:
// the buffers of an Arrow column travel as they are, validity bitmaps with their
// offsets, strings with theirs, dictionaries, and lists and structs with their
// children. What comes is a column over the buffers that came. Of a window only the
// bytes that it shows are sent, from the byte on in which its first bit lies.
//
// All ranks of a call give the same types. A call moves all columns of a list at once:
// one round of lengths, then every buffer straight from its place to its place. Columns
// in the memory of a device are staged through pinned memory, and results are in the
// memory of the device that New was given.
//
// Between two ranks columns go by Send and Recv, or several lists at once by Exchange.
//
// Columns of numbers are reduced row by row (AllReduce, Reduce, ReduceScatter). A null is
// skipped: a row is null where no rank has a value.
package columns
