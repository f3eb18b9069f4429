package flow

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Source is where rows come from that are not in memory: files. A Source is
// immutable and may be scanned any number of times, also at once.
type Source interface {
	// Schema is all the columns that there are. No two have one name.
	Schema(ctx context.Context) (*arrow.Schema, error)
	// Name is for errors and Explain: the file's name, or what files there are.
	Name() string
	// Scan begins to read onto the backend's device.
	Scan(ctx context.Context, b *kernels.Backend, o ScanOptions) (BatchReader, error)
}

// Stated is a Source that states how many rows it has, and what is known of their values,
// without reading these: files with statistics. What is stated may be wrong: it is a hint
// for the order of joins.
type Stated interface {
	Source
	// Ranges gives what is stated of the columns of each part, a row group say, by their
	// names. No parts means that nothing is known.
	Ranges(ctx context.Context) ([]map[string]expr.Range, error)
}

// ScanOptions tell a Source what is wanted of it.
type ScanOptions struct {
	// Columns are the names of the columns to read; the batches have just these,
	// in the order of the Source's schema. nil means all; empty but not nil means
	// none: batches then have rows and no columns.
	Columns []string
	// Predicate, if not nil, says which rows matter. A Source may use it to leave
	// out rows for which it is not true, whole row groups say, and need not: rows
	// are filtered exactly afterwards. It may name columns that are not among
	// Columns. Bind it to the Source's schema and ask Bound.MayBeTrue with the
	// ranges that the file states.
	Predicate *expr.Expr
	// Exact asks for no other rows than those for which Predicate is true. It is only set
	// of a SplitSource on the host whose Filters promises that.
	Exact bool
	// Keys are tests of columns, all in the Source's schema: rows that fail one do not matter. A
	// Source may leave such rows out, and need not.
	Keys []KeyTest
	// Limit is how many rows, of those that pass Predicate, are needed; 0 means
	// all. A Source may stop when it has surely given as many.
	Limit int64
	// BatchRows is how many rows a batch should have; 0 leaves it to the Source.
	// Batches may be smaller or larger.
	BatchRows int64
}

// KeyTest says that only rows matter whose value of a column is among some keys.
type KeyTest struct {
	Column string
	Keys   Keys
}

// Keys are whole numbers, dates or times, those that a side of a join has. They may be more than
// there are, and never fewer. They never change, and any goroutine may use them.
type Keys interface {
	// Keep clears in a mask of the rows of a column the rows whose value is surely not among the keys,
	// and those without a value.
	Keep(mask memory.Bitmap, c *memory.Column)
	// Sample tells of some rows that a mask has how many there are and how many of them Keep would keep.
	Sample(mask memory.Bitmap, c *memory.Column) (rows, kept int64)
}

// BatchReader gives the rows of a scan, batch by batch in order. It is used
// by one goroutine at a time.
type BatchReader interface {
	// Next is the next batch, a reference that belongs to the caller, or io.EOF
	// after the last. After an error every call returns an error.
	Next(ctx context.Context) (*Batch, error)
	// Close stops reading and gives everything back. Closing twice is allowed.
	Close() error
}
