package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// partition numbers the partition of every row and then sorts the rows by it
// with a stable counting sort, in blocks that count and write side by side.
// ByHash takes the hash of the set that it is part of.
func partition(set *kernels.Set) kernels.PartitionFunc {
	return func(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.PartitionOptions) (*kernels.Partitions, error) {
		if o.Scheme == kernels.ByRoundRobin {
			return roundRobin(ctx, s, o)
		}
		n := keys[0].Len()
		buffer, err := memory.New(s.Device().Memory(), 4*n)
		if err != nil {
			return nil, err
		}
		defer buffer.Release()
		parts := memory.View[uint32](buffer)
		if o.Scheme == kernels.ByHash {
			err = hashParts(ctx, s, set.Hash.Func, keys, uint64(o.Parts), parts)
		} else {
			err = rangeParts(ctx, s, keys[0], o.Bounds, parts)
		}
		if err != nil {
			return nil, err
		}
		if n < 1<<32 {
			return scatterRows[uint32](ctx, s, parts, o.Parts)
		}
		return scatterRows[uint64](ctx, s, parts, o.Parts)
	}
}

// hashRows is how many rows are hashed at a time: the hashes then stay small
// beside the keys.
const hashRows = 16 * morsel

func hashParts(ctx context.Context, s device.Stream, hash kernels.HashFunc, keys []*memory.Column, n uint64, parts []uint32) error {
	if hash == nil {
		return device.Errorf(device.ErrUnsupported, "", "", "by hash: the set has no hash")
	}
	for from := int64(0); from < int64(len(parts)); from += hashRows {
		to := min(from+hashRows, int64(len(parts)))
		if err := hashWindow(ctx, s, hash, keys, n, from, parts[from:to]); err != nil {
			return err
		}
	}
	return nil
}

func hashWindow(ctx context.Context, s device.Stream, hash kernels.HashFunc, keys []*memory.Column, n uint64, from int64, parts []uint32) error {
	windows := make([]*memory.Column, 0, len(keys))
	defer func() {
		for _, w := range windows {
			w.Release()
		}
	}()
	for _, k := range keys {
		w, err := k.Slice(from, int64(len(parts)))
		if err != nil {
			return err
		}
		windows = append(windows, w)
	}
	hashes, err := hash(ctx, s, windows, 0)
	if err != nil {
		return err
	}
	defer hashes.Release()
	values := memory.Values[uint64](hashes)
	return parallel(ctx, int64(len(parts)), func(_ int, m span) error {
		for i := m.from; i < m.to; i++ {
			high, _ := bits.Mul64(values[i], n)
			parts[i] = uint32(high)
		}
		return nil
	})
}

// maxCounts bounds the counters of all blocks together.
const maxCounts = 1 << 20

// scatterRows puts the numbers of the rows in order of their partitions.
func scatterRows[R uint32 | uint64](ctx context.Context, s device.Stream, parts []uint32, n int) (*kernels.Partitions, error) {
	rows := int64(len(parts))
	blocks := max(1, min(morsels(rows), maxCounts/n))
	block := (int64(morsels(rows)) + int64(blocks) - 1) / int64(blocks) * morsel
	counts := make([]int64, blocks*n)
	each := func(f func(counts []int64, from, to int64)) error {
		return tasks(ctx, blocks, func(_, b int) error {
			end := min(int64(b+1)*block, rows)
			for from := int64(b) * block; from < end; from += morsel {
				if err := device.Canceled(ctx, "", ""); err != nil {
					return err
				}
				f(counts[b*n:(b+1)*n], from, min(from+morsel, end))
			}
			return nil
		})
	}
	err := each(func(counts []int64, from, to int64) {
		for _, p := range parts[from:to] {
			counts[p]++
		}
	})
	if err != nil {
		return nil, err
	}
	result := &kernels.Partitions{Offsets: make([]int64, n+1)}
	at := int64(0)
	for p := range n { // counts become the place where a block's first row of the partition goes
		for b := range blocks {
			count := counts[b*n+p]
			counts[b*n+p] = at
			at += count
		}
		result.Offsets[p+1] = at
	}
	o := newOut(s, kernels.IndexType(rows), rows)
	if err = o.values(); err == nil {
		to := view[R](o, 1)
		err = each(func(next []int64, from, end int64) {
			for i, p := range parts[from:end] {
				to[next[p]] = R(from + int64(i))
				next[p]++
			}
		})
	}
	result.Rows, err = o.column(err)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// roundRobin knows where each row goes without looking.
func roundRobin(ctx context.Context, s device.Stream, o kernels.PartitionOptions) (*kernels.Partitions, error) {
	if o.Rows < 1<<32 {
		return deal[uint32](ctx, s, o.Rows, int64(o.Parts))
	}
	return deal[uint64](ctx, s, o.Rows, int64(o.Parts))
}

func deal[R uint32 | uint64](ctx context.Context, s device.Stream, rows, n int64) (*kernels.Partitions, error) {
	result := &kernels.Partitions{Offsets: make([]int64, n+1)}
	for p := range n {
		result.Offsets[p+1] = result.Offsets[p] + (rows-p+n-1)/n
		if p >= rows {
			result.Offsets[p+1] = rows
		}
	}
	o := newOut(s, kernels.IndexType(rows), rows)
	err := o.values()
	if err == nil {
		to := view[R](o, 1)
		err = parallel(ctx, rows, func(_ int, m span) error {
			p := partitionAt(result.Offsets, m.from)
			for at := m.from; at < m.to; p++ {
				row := R(p + (at-result.Offsets[p])*n)
				end := min(result.Offsets[p+1], m.to)
				for ; at < end; at++ {
					to[at] = row
					row += R(n)
				}
			}
			return nil
		})
	}
	result.Rows, err = o.column(err)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// partitionAt is the partition that place at belongs to, for a place that
// belongs to one.
func partitionAt(offsets []int64, at int64) int64 {
	lo, hi := 0, len(offsets)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; offsets[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return int64(lo)
}
