package exec

import (
	"context"
	"io"

	"github.com/volley-go/volley/flow"
)

// Morsels cuts the batches of a source into morsels. One goroutine uses it at a
// time.
type Morsels struct {
	source Source
	rows   int64 // of a morsel
	batch  *flow.Batch
	at     int64
	from   int64 // the first row, in its batch, of the morsel given last
	err    error // of the source, for ever
}

// NewMorsels cuts what a source gives into morsels of that many rows.
func NewMorsels(s Source, rows int64) *Morsels { return &Morsels{source: s, rows: rows} }

// Next is the next morsel, of at least one row, or io.EOF. The reference belongs
// to the caller.
func (m *Morsels) Next(ctx context.Context) (*flow.Batch, error) {
	for m.err == nil {
		if m.batch == nil {
			m.batch, m.err = m.source.Next(ctx)
			m.at = 0
			continue
		}
		if n := min(m.rows, m.batch.Len()-m.at); n > 0 {
			part, err := m.batch.Slice(m.at, n)
			m.from = m.at
			m.at += n
			return part, err
		}
		m.batch.Release()
		m.batch = nil
	}
	if m.err != io.EOF && m.batch != nil {
		m.batch.Release()
		m.batch = nil
	}
	return nil, m.err
}

// Close gives back what is held, the source too.
func (m *Morsels) Close() {
	m.batch.Release()
	m.batch = nil
	m.source.Close()
}
