package distributed

import (
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// sizeOf is about how many bytes a table's rows take on their way to another rank, each
// dictionary counted once.
func sizeOf(t *table.Table) (n int64) {
	dicts := map[*memory.Column]bool{}
	for _, b := range t.Chunks() {
		for i := range b.NumColumns() {
			n += memory.Size(b.Column(i), dicts)
		}
	}
	return n
}
