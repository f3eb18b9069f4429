package cpu

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// mostPacked is the longest text that is one word with its end.
const mostPacked = 7

// packSample is the rows that show first whether texts are so short.
const packSample = 64

// newGroupKeyspace is newKeyspace for keys that are only held against each other:
// texts of up to 7 bytes are words then, with a range like integers, so that a few
// flags and codes together number their groups by an array. Where no array has the
// words, texts that have few values are numbered.
func newGroupKeyspace(ctx context.Context, a *arena, l *loops, cols []*memory.Column, drop bool) (*keyspace, error) {
	ks, err := newPackedKeyspace(ctx, a, cols, drop)
	if err != nil || ks.exact && ks.card != 0 && ks.card <= fewPlaces {
		return ks, err
	}
	numbered, err := numberTexts(ctx, a, l, cols, drop)
	if numbered == nil || err != nil {
		return ks, err
	}
	narrow, err := keyspaceOf(ctx, a, cols, drop, numbered)
	if err == nil && narrow.exact {
		return narrow, nil
	}
	for _, k := range numbered { // they hash no quicker
		if k != nil {
			a.drop(k.held)
		}
	}
	return ks, err
}

// newPackedKeyspace makes words of texts that are all short.
func newPackedKeyspace(ctx context.Context, a *arena, cols []*memory.Column, drop bool) (*keyspace, error) {
	packed := make([]*keyColumn, len(cols))
	for i, c := range cols {
		var k *keyColumn
		var ok bool
		var err error
		switch c.Type().ID() {
		case arrow.STRING, arrow.BINARY:
			k, ok, err = packTexts[int32](ctx, c, drop)
		case arrow.LARGE_STRING, arrow.LARGE_BINARY:
			k, ok, err = packTexts[int64](ctx, c, drop)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return newKeyspace(ctx, a, cols, drop)
		}
		packed[i] = k
	}
	ks, err := keyspaceOf(ctx, a, cols, drop, packed)
	if err == nil && !ks.exact && slices.ContainsFunc(packed, func(k *keyColumn) bool { return k != nil }) {
		return newKeyspace(ctx, a, cols, drop)
	}
	return ks, err
}

// packTexts plans a column of texts that are all short; ok is false where one is not.
func packTexts[T int32 | int64](ctx context.Context, c *memory.Column, drop bool) (k *keyColumn, ok bool, err error) {
	n := c.Len()
	if n == 0 {
		return nil, false, nil
	}
	offsets, bytes := memory.Offsets[T](c), bytesOf(c)
	for i := range int64(packSample) {
		if row := i * (n - 1) / packSample; !c.IsNull(row) && offsets[row+1]-offsets[row] > mostPacked {
			return nil, false, nil
		}
	}
	if c.Validity() == nil {
		if k, ok, err := packFlags(ctx, c, offsets, bytes, drop); ok || err != nil {
			return k, ok, err
		}
	}
	type limits struct {
		low, high uint64
		any, long bool
	}
	parts := make([]limits, morsels(n))
	valid := c.Validity()
	err = parallel(ctx, n, func(_ int, s span) error {
		p := limits{low: ^uint64(0)}
		for row := s.from; row < s.to && !p.long; row++ {
			if valid != nil && !valid.Get(c.Offset()+row) {
				continue
			}
			from, to := offsets[row], offsets[row+1]
			if to-from > mostPacked {
				p.long = true
				break
			}
			w := packedText(bytes[from:to])
			p.low, p.high, p.any = min(p.low, w), max(p.high, w), true
		}
		parts[s.index] = p
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	all := limits{low: ^uint64(0)}
	for _, p := range parts {
		all = limits{min(all.low, p.low), max(all.high, p.high), all.any || p.any, all.long || p.long}
	}
	if all.long {
		return nil, false, nil
	}
	k = &keyColumn{c: c, drop: drop, nullable: c.MayHaveNulls(), encode: encodePacked[T]}
	if all.any {
		k.base, k.span = all.low, all.high-all.low
	}
	k.withNull()
	return k, true, nil
}

// packFlags plans a column of texts of one byte each; ok is false where one is not.
func packFlags[T int32 | int64](ctx context.Context, c *memory.Column, offsets []T, bytes []byte, drop bool) (k *keyColumn, ok bool, err error) {
	if ok, err = oneByteEach(ctx, offsets); !ok || err != nil {
		return nil, false, err
	}
	n := c.Len()
	flags := bytes[offsets[0]:offsets[n]]
	lows, highs := make([]byte, morsels(n)), make([]byte, morsels(n))
	err = parallel(ctx, n, func(_ int, s span) error {
		lows[s.index], highs[s.index] = rangeOfAll(flags[s.from:s.to])
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	low, high := slices.Min(lows), slices.Max(highs)
	k = &keyColumn{c: c, drop: drop, base: uint64(low), span: uint64(high - low)}
	k.encode = func(k *keyColumn, b *batch, dst []uint64) bool {
		base, shift := k.base, k.shift
		if b.rows != nil {
			for j, row := range b.rows[:len(dst)] {
				dst[j] |= (uint64(flags[row]) - base) << shift
			}
			return false
		}
		for j, flag := range flags[b.from:][:len(dst)] {
			dst[j] |= (uint64(flag) - base) << shift
		}
		return false
	}
	k.withNull()
	return k, true, nil
}

// packedText is the bytes of a short text and a bit behind them, which tells its end
// from bytes that are 0.
func packedText(p []byte) uint64 {
	if len(p) == 1 {
		return 1<<8 | uint64(p[0])
	}
	low, _ := shortWords(p)
	return low | 1<<(8*uint(len(p))&63)
}

func encodePacked[T int32 | int64](k *keyColumn, b *batch, dst []uint64) (skips bool) {
	offsets, bytes, base, shift := memory.Offsets[T](k.c), bytesOf(k.c), k.base, k.shift
	valid, off := k.c.Validity(), k.c.Offset()
	if valid == nil && b.rows == nil {
		offsets = offsets[b.from:][:len(dst)+1]
		begin := offsets[0]
		for j, end := range offsets[1:] {
			dst[j] |= (packedText(bytes[begin:end]) - base) << shift
			begin = end
		}
		return false
	}
	for j := range dst {
		row := b.row(j)
		switch {
		case valid == nil || valid.Get(off+int64(row)):
			dst[j] |= (packedText(bytes[offsets[row]:offsets[row+1]]) - base) << shift
		case k.drop:
			b.skip[j], skips = true, true
		default:
			dst[j] |= k.null << shift
		}
	}
	return skips
}
