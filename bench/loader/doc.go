// Package loader races loaders of training batches: ours beside PyTorch's
// DataLoader, a gather of whole batches by hand, torchdata, tf.data and pyarrow.
//
// Each engine is one long-lived Python process that takes commands through a
// pipe, ours too, by the Python package; what an engine cannot do is told with the
// reason. Sets of data are made numbers, flights joined with the places of their
// airports, and files of the user's. What is timed is an epoch of batches as
// a framework's contiguous tensors, in an order that is shuffled anew each time.
// Before any clock runs each engine gives an epoch that is held against the data,
// every row exactly once. Engines take turns, in an order that moves on by one
// each round. Beside them a plain loop of Go gathers the same number of rows from
// a matrix at random on all threads, with an order that is there already: the
// limit; and so does a loop that asks for rows ahead, the most that memory gives.
package loader
