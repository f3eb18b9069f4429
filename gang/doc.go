// Package gang is a group of workers that are started together, or by an engine such as Dask, Ray or Spark: processes, or goroutines of this one.
// Each has a rank, a Comm for collective operations, and beside it an asynchronous plane: messages with a tag, references to
// tables and values that stay with their holder until somebody fetches them, and groups of some workers that cost nothing to make.
//
// A Gang is the start: it runs registered functions on all workers and has references to what they give. A gang is placed whole
// or not at all, and restarts whole, under the next generation: workers, messages and files of an older one are refused
// (ErrStale) or swept. Nothing that a worker does closes the gang. What needs a worker that died, or was silent for a
// lease, ends with a *collective.Fault that names it; the rest goes on.
//
// Everything that waits ends with its context.
package gang
