package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// TakeOptions tune Take.
type TakeOptions struct {
	// Trusted says that every index is in range, so that nothing is checked.
	Trusted bool
}

// TakeFunc gathers c[indices[i]] for each i. indices is of any integer type; a
// null index gives a null; one out of range is an ErrValue that names the
// position and the index.
type TakeFunc func(ctx context.Context, s device.Stream, c, indices *memory.Column, o TakeOptions) (*memory.Column, error)

// ConcatFunc joins columns of one type end to end, one or more of them. utf8,
// binary and list offsets that would pass 2^31-1 are an ErrValue that says to
// cast to the large type; dictionaries that differ are unified.
type ConcatFunc func(ctx context.Context, s device.Stream, cols []*memory.Column) (*memory.Column, error)

// PartitionScheme is how rows are spread over partitions.
type PartitionScheme int

// The schemes.
const (
	// ByHash sends a row to Hash(keys, 0) scaled to the number of partitions
	// by the high bits: equal keys go to one partition.
	ByHash PartitionScheme = iota
	// ByRange sends a row to the number of bounds that its key is not less
	// than, in sort order with nulls last: len(bounds)+1 partitions.
	ByRange
	// ByRoundRobin sends row i to i modulo the number of partitions.
	ByRoundRobin
)

// PartitionOptions choose a scheme.
type PartitionOptions struct {
	Scheme PartitionScheme
	Parts  int            // partitions, at least 1; for ByRange it follows from Bounds
	Bounds *memory.Column // ByRange: sorted bounds of the type of the one key
	Rows   int64          // ByRoundRobin without keys: how many rows there are
}

// Partitions tell which rows each partition got.
type Partitions struct {
	// Rows holds row numbers (IndexType), partition by partition, rising within each.
	Rows *memory.Column
	// Offsets says where each begins: partition p is Rows[Offsets[p]:Offsets[p+1]].
	Offsets []int64
}

// Release drops the references to the columns.
func (p *Partitions) Release() {
	if p != nil {
		p.Rows.Release()
	}
}

// PartitionFunc spreads rows over partitions by their keys.
type PartitionFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o PartitionOptions) (*Partitions, error)
