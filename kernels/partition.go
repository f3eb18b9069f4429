package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

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

// MaxParts is the greatest number of partitions.
const MaxParts = 1 << 20

// PartitionOptions choose a scheme.
type PartitionOptions struct {
	Scheme PartitionScheme
	Parts  int            // partitions, 1 to MaxParts; for ByRange it follows from Bounds and is not read
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

// Partition spreads rows over partitions by keys, columns of one length: at
// least one for ByHash, exactly one for ByRange, any for ByRoundRobin, which
// reads but their length (Rows where there is none). Within a partition rows
// rise. Options that do not fit are an ErrMismatch; bounds must be sorted as
// SortIndices sorts, nulls last.
func (b *Backend) Partition(ctx context.Context, s device.Stream, keys []*memory.Column, o PartitionOptions) (_ *Partitions, err error) {
	const call = "partition"
	defer b.guard(call, &err)
	entry := &b.Set.Partition
	if err := b.admit(ctx, s, call, entry.Func != nil, entry.Types, append(keys[:len(keys):len(keys)], o.Bounds)...); err != nil {
		return nil, err
	}
	for i, c := range keys {
		if c == nil {
			return nil, b.fail(device.ErrMismatch, call, "key %d is nil", i)
		}
	}
	if err := b.sameLength(call, keys...); err != nil {
		return nil, err
	}
	switch o.Scheme {
	case ByHash:
		if len(keys) == 0 {
			return nil, b.fail(device.ErrMismatch, call, "by hash of no keys")
		}
	case ByRange:
		if len(keys) != 1 || o.Bounds == nil {
			return nil, b.fail(device.ErrMismatch, call, "by range takes one key and bounds, not %d keys", len(keys))
		}
		if !arrow.TypeEqual(keys[0].Type(), o.Bounds.Type()) {
			return nil, b.fail(device.ErrMismatch, call, "a key of %s with bounds of %s", keys[0].Type(), o.Bounds.Type())
		}
		if o.Bounds.Len() >= MaxParts {
			return nil, b.fail(device.ErrMismatch, call, "%d bounds: at most %d partitions", o.Bounds.Len(), MaxParts)
		}
		o.Parts = int(o.Bounds.Len()) + 1
	case ByRoundRobin:
		if len(keys) > 0 {
			o.Rows = keys[0].Len()
		}
		if o.Rows < 0 {
			return nil, b.fail(device.ErrMismatch, call, "%d rows", o.Rows)
		}
	default:
		return nil, b.fail(device.ErrUnsupported, call, "scheme %d", o.Scheme)
	}
	if o.Parts < 1 || o.Parts > MaxParts {
		return nil, b.fail(device.ErrMismatch, call, "%d partitions: 1 to %d", o.Parts, MaxParts)
	}
	return entry.Func(ctx, s, keys, o)
}
