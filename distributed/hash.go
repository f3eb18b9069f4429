package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// hashed is a table with the hashes of its rows' keys where Go code can read them. The rows are
// hashed on the table's device.
type hashed struct {
	t      *table.Table
	hashes []*memory.Column // of uint64, by chunk
	nulls  [][]bool         // by chunk, the rows with a key that is null; nil where there is none
}

func (h *hashed) release() {
	if h == nil {
		return
	}
	h.unhash()
	h.t.Release()
	h.t = nil
}

// unhash releases the hashes alone.
func (h *hashed) unhash() {
	for _, c := range h.hashes {
		c.Release()
	}
	h.hashes = nil
}

// hash hashes the keys of a table's rows in types that keysTypes gave. With nulls it finds the rows
// with null keys too. It is nil where this rank has an error.
func (o *op) hash(t *table.Table, keys []string, types []arrow.DataType, nulls bool) (h *hashed) {
	o.do(func() (err error) {
		s, err := o.backend.NewStream()
		if err != nil {
			return err
		}
		h = &hashed{t: t.Retain()}
		defer func() { err = errors.Join(err, s.Close()) }()
		for _, b := range t.Chunks() {
			if err := o.hashChunk(h, s, b, keys, types, nulls); err != nil {
				return err
			}
		}
		return nil
	})
	if !o.going() {
		h.release()
		return nil
	}
	return h
}

func (o *op) hashChunk(h *hashed, s device.Stream, b *table.Batch, keys []string, types []arrow.DataType, nulls bool) error {
	if err := device.Canceled(o.ctx, "", o.call.Op); err != nil {
		return err
	}
	columns := make([]*memory.Column, len(keys))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, k := range keys {
		c := b.ColumnNamed(k)
		if hashAlike(c.Type(), types[i]) {
			columns[i] = c.Retain()
			continue
		}
		cast, err := o.backend.Cast(o.ctx, s, c, types[i], kernels.CastOptions{})
		if err != nil {
			return fmt.Errorf("column %q: %w", k, err)
		}
		columns[i] = cast
	}
	there, err := o.backend.Hash(o.ctx, s, columns, 0)
	if err != nil {
		return err
	}
	defer there.Release()
	here, err := o.backend.OnHost(o.ctx, s, there)
	if err != nil {
		return err
	}
	h.hashes = append(h.hashes, here)
	var marks []bool
	for _, c := range columns {
		if nulls && (c.MayHaveNulls() || c.Dictionary() != nil && c.Dictionary().MayHaveNulls()) {
			if marks == nil {
				marks = make([]bool, b.Len())
			}
			if err := o.markNulls(s, c, marks); err != nil {
				return err
			}
		}
	}
	h.nulls = append(h.nulls, marks)
	return s.Wait(o.ctx)
}

func (o *op) markNulls(s device.Stream, c *memory.Column, marks []bool) error {
	there, err := o.backend.IsNull(o.ctx, s, kernels.IsNullTest, c)
	if err != nil {
		return err
	}
	defer there.Release()
	here, err := o.backend.OnHost(o.ctx, s, there)
	if err != nil {
		return err
	}
	defer here.Release()
	for i := range marks {
		marks[i] = marks[i] || here.Bits().Get(here.Offset()+int64(i))
	}
	return nil
}

// hashAlike reports whether values that are equal hash alike in both types.
func hashAlike(a, b arrow.DataType) bool {
	a, b = plain(a), plain(b)
	for _, kind := range []kernels.Types{kernels.IntegerTypes, kernels.BinaryTypes, kernels.FloatTypes} {
		if kind.Has(a.ID()) && kind.Has(b.ID()) {
			return true
		}
	}
	return arrow.TypeEqual(a, b)
}

// plain is a type, of a dictionary that of its values.
func plain(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// keyTypes are the types of columns that are there and can be hashed.
func keyTypes(s *arrow.Schema, keys []string) ([]arrow.DataType, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: no keys given", device.ErrMismatch)
	}
	var types []arrow.DataType
	for _, k := range keys {
		at := s.FieldIndices(k)
		if len(at) == 0 {
			return nil, expr.UnknownColumn(k, names(s))
		}
		t := s.Field(at[0]).Type
		if !kernels.KeyTypes.Has(t.ID()) {
			return nil, fmt.Errorf("%w: column %q of type %s as a key", device.ErrUnsupported, k, expr.TypeName(t))
		}
		types = append(types, plain(t))
	}
	return types, nil
}

func names(s *arrow.Schema) []string {
	var all []string
	for _, f := range s.Fields() {
		all = append(all, f.Name)
	}
	return all
}

// bucketsPerRank is how many buckets there are for each rank, so that some that are large can be
// dealt out beside others that are small.
const bucketsPerRank = 8

// bucketOf is the bucket of a hash among n: that of kernels.ByHash.
func bucketOf(hash, n uint64) uint64 {
	high, _ := bits.Mul64(hash, n)
	return high
}

// count adds the rows of a table to their buckets, each by a weight: those without null keys and
// whose hashes are not heavy.
func (h *hashed) count(buckets []int64, weight int64, heavy map[uint64]bool) {
	if h == nil {
		return
	}
	n := uint64(len(buckets))
	for k, c := range h.hashes {
		marks := h.nulls[k]
		for i, x := range memory.Values[uint64](c) {
			if marks != nil && marks[i] {
				continue
			}
			if len(heavy) > 0 {
				if _, is := heavy[x]; is {
					continue
				}
			}
			buckets[bucketOf(x, n)] += weight
		}
	}
}

// dealt gives every bucket a rank: the largest first, each to the rank that has least, of
// equal ones to the lowest.
func dealt(sizes []int64, ranks int) []int32 {
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	to, load, has := make([]int32, len(sizes)), make([]int64, ranks), make([]int64, ranks)
	for _, b := range order {
		least := 0
		for r := range load {
			if load[r] < load[least] || load[r] == load[least] && has[r] < has[least] {
				least = r
			}
		}
		to[b] = int32(least)
		load[least] += sizes[b]
		has[least]++
	}
	return to
}
