// Package dataloader makes training batches of tables: it draws rows in a
// shuffled order, gathers them into matrices of one type, and lends these out,
// batch by batch, ahead of who uses them.
//
// A Sampler says which rows a batch has, by arithmetic alone: the order of an
// epoch is computed (package order), the ranks of a training are two integers, and
// nothing depends on workers or prefetch. So a Loader can say in a few dozen
// bytes where it stands (State), and another can go on there with exactly the
// rows that were not given out yet, with another number of ranks too.
//
// Workers gather batches into a ring of memory that is taken once. A Batch is
// lent: its memory comes back by Release and is written anew only then. Nothing
// is allocated for a batch of a table, and who is slow makes the workers wait.
//
// What a batch goes through are stages, each with goroutines of its own and a queue
// with an end before it: pieces of files and streams are read, and decoded into a
// cache; workers gather rows; expressions and functions of tables (Derive, MapBatches)
// and Options.Transform are evaluated over what was gathered; the batch is copied to
// the device. A stage that is not needed is not there: of a table that lies in memory,
// or in a mapped file, nothing is read or decoded, and a batch without expressions
// goes from its worker to who asked for it. With Workers InCaller all that comes after
// decoding happens in Next.
//
// A Source is where rows come from: a table (FromTable, TakeTable), files of any
// size (FromFiles), record batches that come one by one (FromBatches,
// FromChannel), expressions over another source (Derive), or what a function makes
// of each batch's table (MapBatches). Options make windows over a time series of its
// rows (Window), numbers of texts, lists and blobs (Encode), and copies on a device
// (Device), which gathers those of a table that lies there itself.
package dataloader
