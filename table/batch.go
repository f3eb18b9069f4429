package table

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/memory"
)

// Batch is some rows: columns of one length that a schema names and types. See
// flow.Batch.
type Batch = flow.Batch

// Source is where rows come from that are not in memory: files. See flow.Source.
type Source = flow.Source

// ScanOptions tell a Source what is wanted of it. See flow.ScanOptions.
type ScanOptions = flow.ScanOptions

// BatchReader gives the rows of a scan, batch by batch in order. See
// flow.BatchReader.
type BatchReader = flow.BatchReader

// NewBatch makes a batch of columns of the schema's types, rows long each, and
// takes over the caller's references to them, also when it fails. A column of
// another type or length is an ErrMismatch that names it.
func NewBatch(schema *arrow.Schema, rows int64, columns []*memory.Column) (*Batch, error) {
	return flow.NewBatch(schema, rows, columns)
}

// BatchOf makes a batch of an arrow-go record batch, without copying but of
// views (see memory.Held).
func BatchOf(r arrow.RecordBatch) (*Batch, error) { return flow.BatchOf(r) }

func releaseColumns(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}

// The kinds of error that this package makes itself.
var (
	errMismatch    = device.ErrMismatch
	errUnsupported = device.ErrUnsupported
)
