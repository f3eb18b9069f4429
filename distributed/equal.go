package distributed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// Equal reports whether two tables have the same columns and the same rows in the same
// order, however they are spread over the ranks. Nulls are equal, and NaNs, and -0 equals 0.
//
// It compares sums of 128-bit hashes of the rows and their numbers, so no row moves:
// tables that differ are taken for equal with a probability of 2⁻¹²⁸ or so.
func (d *Table) Equal(ctx context.Context, other *Table) (bool, error) {
	return d.equal(ctx, "Equal", other, true)
}

// EqualRows is Equal in any order: whether two tables have the same rows, each as many times.
func (d *Table) EqualRows(ctx context.Context, other *Table) (bool, error) {
	return d.equal(ctx, "EqualRows", other, false)
}

func (d *Table) equal(ctx context.Context, call string, other *Table, ordered bool) (bool, error) {
	o := d.start(ctx, call, "")
	o.do(func() error {
		if other == nil {
			return fmt.Errorf("%w: no table given", device.ErrMismatch)
		}
		if other.comm != d.comm {
			return fmt.Errorf("%w: the other table is on another Comm", device.ErrMismatch)
		}
		return nil
	})
	if o.meet() != nil {
		return false, o.ended
	}
	if !sameColumns(d.Schema(), other.Schema()) || d.NumRows() != other.NumRows() { // which all ranks see alike
		return false, nil
	}
	var sums []uint64
	for _, t := range []*Table{d, other} {
		part := o.once(t)
		o.do(func() error {
			s, err := o.rowSums(part, t.before(), ordered)
			sums = append(sums, s[:]...)
			return err
		})
		part.Release()
	}
	words := make([]int64, 4)
	for i, s := range sums {
		words[i] = int64(s)
	}
	words = o.sums(len(words), words)
	if words == nil {
		return false, o.ended
	}
	return words[0] == words[2] && words[1] == words[3], nil
}

// sameColumns reports whether columns have the same names and types; a dictionary is its values.
func sameColumns(a, b *arrow.Schema) bool {
	if a.NumFields() != b.NumFields() {
		return false
	}
	for i, f := range a.Fields() {
		if g := b.Field(i); f.Name != g.Name || !arrow.TypeEqual(plain(f.Type), plain(g.Type)) {
			return false
		}
	}
	return true
}

// rowSeeds are the seeds of the two halves of a row's hash.
var rowSeeds = [2]uint64{0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f}

// rowSums adds up the hashes of rows, modulo 2⁶⁴ each half.
func (o *op) rowSums(t *table.Table, first int64, ordered bool) (sums [2]uint64, err error) {
	t = t.Retain()
	defer func() { t.Release() }()
	if ordered {
		numbered, err := t.WithRowNumber(o.ctx, freeName(t.Schema(), "row"), first)
		if err != nil {
			return sums, err
		}
		t.Release()
		t = numbered
	}
	if t.NumColumns() == 0 {
		return sums, nil
	}
	s, err := o.backend.NewStream()
	if err != nil {
		return sums, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, b := range t.Chunks() {
		for half := range sums {
			if err := o.addHashes(s, b, half, &sums[half]); err != nil {
				return sums, err
			}
		}
	}
	return sums, nil
}

// addHashes adds the hashes of a batch's rows.
func (o *op) addHashes(s device.Stream, b *table.Batch, half int, sum *uint64) error {
	keys := make([]*memory.Column, 0, b.NumColumns())
	defer func() {
		for _, k := range keys {
			k.Release()
		}
	}()
	for i := range b.NumColumns() {
		c := b.Column(i).Retain()
		if kernels.NestedTypes.Has(c.Type().ID()) {
			flat, err := o.nestedHashes(s, c, half)
			c.Release()
			if err != nil {
				return fmt.Errorf("column %q: %w", b.Schema().Field(i).Name, err)
			}
			c = flat
		}
		keys = append(keys, c)
	}
	there, err := o.backend.Hash(o.ctx, s, keys, rowSeeds[half])
	if err != nil {
		return err
	}
	defer there.Release()
	here, err := o.backend.OnHost(o.ctx, s, there)
	if err != nil {
		return err
	}
	defer here.Release()
	for _, h := range memory.Values[uint64](here) {
		*sum += h
	}
	return device.Canceled(o.ctx, "", o.call.Op)
}

// nestedHashes is half of a hash of each list or struct of a column, which no kernel hashes.
func (o *op) nestedHashes(s device.Stream, c *memory.Column, half int) (*memory.Column, error) {
	here, err := o.backend.OnHost(o.ctx, s, c)
	if err != nil {
		return nil, err
	}
	defer here.Release()
	hashes := make([]uint64, here.Len())
	for i := range hashes {
		if i%4096 == 0 {
			if err := device.Canceled(o.ctx, "", o.call.Op); err != nil {
				return nil, err
			}
		}
		h := fnv.New128a()
		addScalar(h, kernels.ScalarAt(here, int64(i)))
		hashes[i] = binary.LittleEndian.Uint64(h.Sum(nil)[8*half:])
	}
	flat, err := table.New(o.backend, table.Column("hash", hashes))
	if err != nil {
		return nil, err
	}
	defer flat.Release()
	return flat.Chunks()[0].Column(0).Retain(), nil
}

// addScalar hashes a value such that those of equal keys are alike.
func addScalar(h hash.Hash, v kernels.Scalar) {
	var word [9]byte
	put := func(kind byte, n uint64) {
		word[0] = kind
		binary.LittleEndian.PutUint64(word[1:], n)
		h.Write(word[:])
	}
	if !v.Valid() {
		put(0, 0)
		return
	}
	switch id := v.Type().ID(); {
	case kernels.NestedTypes.Has(id):
		put(1, uint64(len(v.Items())))
		for _, item := range v.Items() {
			addScalar(h, item)
		}
	case kernels.BinaryTypes.Has(id):
		put(2, uint64(len(v.Text())))
		h.Write([]byte(v.Text()))
	case kernels.DecimalTypes.Has(id):
		n := v.Decimal()
		put(3, n.LowBits())
		put(3, uint64(n.HighBits()))
	case kernels.FloatTypes.Has(id):
		put(4, floatBits(v.Float64()))
	default:
		put(5, v.Uint64())
	}
}

// floatBits are the bits of a float, the same for all NaNs and for -0 and 0.
func floatBits(x float64) uint64 {
	switch {
	case x != x:
		return math.Float64bits(math.NaN())
	case x == 0:
		return 0
	}
	return math.Float64bits(x)
}
