// Package filemeta reads what Parquet and Arrow IPC files say of themselves, before a decoder
// does: footers, schemas and headers of pages and batches. Counts must fit the bytes, and nothing
// may nest without end, so that no decoder allocates or recurses by numbers of a damaged file.
//
// Parquet writes its metadata in Thrift's compact protocol, which Compact walks; Arrow IPC writes
// its in FlatBuffers, which FlatWalk walks.
package filemeta
