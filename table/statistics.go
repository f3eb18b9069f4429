package table

import (
	"sync"

	"github.com/volley-go/volley/flow/stats"
	"github.com/volley-go/volley/memory"
)

// tableStats is what is known of the columns of a table, each looked at once, when a plan
// first asks for it.
type tableStats struct {
	lock    sync.Mutex
	columns map[int]*stats.Column // nil of one that cannot be looked at
}

// statsOf is what is known of a column, nil for nothing: it is guessed from then.
func (t *Table) statsOf(column int) *stats.Column {
	t.stats.lock.Lock()
	defer t.stats.lock.Unlock()
	if c, ok := t.stats.columns[column]; ok {
		return c
	}
	if t.stats.columns == nil {
		t.stats.columns = map[int]*stats.Column{}
	}
	var found *stats.Column
	if len(t.chunks) > 0 && t.backend.Device.Memory().Place().HostAccessible() {
		parts := make([]*memory.Column, len(t.chunks))
		for i, b := range t.chunks {
			parts[i] = b.Column(column)
		}
		if c, ok := stats.Of(parts); ok {
			found = &c
		}
	}
	t.stats.columns[column] = found
	return found
}
