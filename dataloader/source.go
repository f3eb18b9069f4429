package dataloader

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// Source is data whose rows can be read in any order. Its methods may be called
// from any goroutine. FromTable makes one of a table.
type Source interface {
	// Name is for errors.
	Name() string
	// Schema is all columns that there are.
	Schema() *arrow.Schema
	// NumRows is how many rows there are.
	NumRows() int64
	// Fingerprint is a number that is another when the values of the columns are,
	// and the same for the same values however they are held.
	Fingerprint(ctx context.Context, columns []int) (uint32, error)
	// Open prepares reading of some tensors. Parts that it cannot make of the
	// columns are an error that names the column and, where it is a value that
	// does not fit, the row. What it takes beside the source is taken from m and
	// at most spare bytes.
	Open(ctx context.Context, m memory.Allocator, parts []Part, spare int64) (Reader, error)
}

// Reader gives rows of an opened source. Read may be called from any number of
// goroutines at the same time.
type Reader interface {
	// Read writes rows of the source into the tensors, one for each part, in the
	// order of rows: row rows[i] becomes row i. It keeps none of its arguments.
	Read(ctx context.Context, rows []int64, to []Tensor) error
	// Bytes is how much memory the reader holds beside the source.
	Bytes() int64
	// Close gives back what Open took, once no Read runs.
	Close() error
}
