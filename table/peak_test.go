package table

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// inChunks is a table of columns of 64-bit integers, in chunks of 65,536 rows: k, which has a value for each row, and a, b and c.
func inChunks(t *testing.T, b *kernels.Backend, rows int64) *Table {
	t.Helper()
	var chunks []*Batch
	var schema *arrow.Schema
	for from := int64(0); from < rows; from += 1 << 16 {
		var columns [4][]int64
		for row := from; row < min(rows, from+1<<16); row++ {
			for i := range columns {
				columns[i] = append(columns[i], row*7919%rows+int64(i))
			}
		}
		part, err := New(b, Column("k", columns[0]), Column("a", columns[1]), Column("b", columns[2]), Column("c", columns[3]))
		require.NoError(t, err)
		schema = part.Schema()
		chunks = append(chunks, part.Chunks()[0].Retain())
		part.Release()
	}
	out, err := NewTable(b, schema, chunks)
	require.NoError(t, err)
	return out
}

// What a filter left of many chunks is put together column by column: the parts of one are given back before the next one is copied.
func TestPartsGoColumnByColumn(t *testing.T) {
	t.Setenv("VOLLEY_OPTIMISER", "-joinorder,-reduce,-joinfilter")
	const rows = 1 << 20
	var counted *memory.Counted
	b := backendOver(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewCounted(a)
		return counted
	})
	right := inChunks(t, b, rows)
	defer right.Release()
	left, err := New(b, Column("k", []int64{1, 2, 3}))
	require.NoError(t, err)
	defer left.Release()
	before := counted.Stats().Bytes
	got, err := From(left).Join(From(right).Filter("a % 1000 <> 7"), Left, On("k")).Collect(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, got.NumRows())
	got.Release()
	// Kept are 32 bytes a row, and the table of the join takes 12. Two copies would be 64. What a device has launched holds its memory until it has run,
	// so its peak tells how far the host is ahead.
	if b.Device.Memory().Place().HostAccessible() {
		require.Less(t, float64(counted.Stats().Peak-before)/rows, 52.0)
	}
}
