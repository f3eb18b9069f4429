package flow

import (
	"context"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// SplitSource is a Source whose rows lie in parts that workers on the host read beside each
// other: row groups of Parquet, blocks of text, record batches.
type SplitSource interface {
	Source
	// Splits begins a scan, as Scan does, of which the caller reads the parts. The backend is
	// on the host.
	Splits(ctx context.Context, b *kernels.Backend, o ScanOptions) (Splits, error)
	// Filters reports whether a scan on the host with ScanOptions.Exact gives only the rows for
	// which a predicate is true.
	Filters(predicate *expr.Expr) bool
}

// Splits are the parts of a scan, in the order of their rows. One goroutine at a time uses
// them.
type Splits interface {
	// Next is the next part, which the caller closes, or io.EOF. It is called no more once it
	// has failed. What can be read later by the goroutine that takes the part, the part reads.
	Next(ctx context.Context) (Split, error)
	// Close ends the scan, after all parts were closed. Closing twice is allowed.
	Close() error
}

// Split is a part of a scan. One goroutine at a time uses it.
type Split interface {
	// Next is the next batch of the part, a reference that belongs to the caller, or io.EOF. A
	// batch may have no rows. After an error every call returns an error.
	Next(ctx context.Context) (*Batch, error)
	// Close gives back what the part holds, once.
	Close()
}
