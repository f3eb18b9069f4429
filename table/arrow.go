package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// FromRecords makes a table of arrow-go record batches of one schema, a chunk
// each. On the host nothing is copied: the table holds references to their
// buffers; to another device they are copied before the call returns. Views and
// values of a fixed size become what memory.Held says. Types that volley has not
// got are an ErrUnsupported that names the column. Contents
// are taken as they are: what comes from outside of the process is checked by
// its reader, or with memory.Column.Validate.
func FromRecords(b *kernels.Backend, schema *arrow.Schema, records ...arrow.RecordBatch) (*Table, error) {
	var chunks []*Batch
	for _, r := range records {
		c, err := BatchOf(r)
		if err != nil {
			for _, c := range chunks {
				c.Release()
			}
			return nil, err
		}
		chunks = append(chunks, c)
	}
	return tableOnDevice(b, memory.HeldSchema(schema), chunks)
}

// FromRecord makes a table of one record batch, as FromRecords does.
func FromRecord(b *kernels.Backend, record arrow.RecordBatch) (*Table, error) {
	return FromRecords(b, record.Schema(), record)
}

// FromArrowTable makes a table of an arrow-go table as FromRecords does, with a
// chunk wherever one of its columns has one.
func FromArrowTable(b *kernels.Backend, t arrow.Table) (*Table, error) {
	reader := array.NewTableReader(t, -1)
	defer reader.Release()
	var records []arrow.RecordBatch
	defer func() {
		for _, r := range records {
			r.Release()
		}
	}()
	for reader.Next() {
		r := reader.RecordBatch()
		r.Retain()
		records = append(records, r)
	}
	return FromRecords(b, t.Schema(), records...)
}

// ToRecords makes an arrow-go record batch of each chunk, without copying where
// the table is on the host. The caller releases them.
func (t *Table) ToRecords() ([]arrow.RecordBatch, error) {
	host, err := t.onHost(context.Background())
	if err != nil {
		return nil, err
	}
	defer host.Release()
	var all []arrow.RecordBatch
	for _, c := range host.chunks {
		r, err := c.Record()
		if err != nil {
			for _, r := range all {
				r.Release()
			}
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}
