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
	back   *flow.Batch
}

// NewMorsels cuts what a source gives into morsels of that many rows.
func NewMorsels(s Source, rows int64) *Morsels { return &Morsels{source: s, rows: rows} }

// Next is the next morsel, of at least one row, or io.EOF. The reference belongs
// to the caller.
func (m *Morsels) Next(ctx context.Context) (*flow.Batch, error) {
	if b := m.back; b != nil {
		m.back = nil
		return b, nil
	}
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

// unread has Next give again what it gave last.
func (m *Morsels) unread(b *flow.Batch) { m.back = b }

// more reports whether the batch of the morsel given last has rows left.
func (m *Morsels) more() bool { return m.batch != nil && m.at < m.batch.Len() }

// Close gives back what is held, the source too.
func (m *Morsels) Close() {
	m.batch.Release()
	m.back.Release()
	m.batch, m.back = nil, nil
	m.source.Close()
}
