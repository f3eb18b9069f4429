package cpu

import (
	"context"
	"math"
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// block is how many rows sort turns into words at a time, in the first cache.
const block = 1024

// level is what rows are ordered by at a time, one word a row: packed fields,
// or a piece of a string. Rows with equal words go on to the next level.
type level[R row] struct {
	fields []field[R] // the most significant first, together bits wide
	bits   int
	text   *text // instead of fields
	// seek, where a level has it, gives the first of rows [from, to) whose word
	// is less than bound, or to.
	seek func(from, to int64, bound uint64) int64
}

// field is a key, or a part of one, as an unsigned code of a few bits: the
// value less the least one, turned round if descending, with codes for nulls
// and NaNs before or after those of values.
type field[R row] struct {
	column   *memory.Column
	words    words[R]
	from     uint64 // the word with the first code
	flip     bool   // codes fall as words rise
	base     uint64 // code of the first value
	nulls    bool
	nullCode uint64
	nanCode  uint64 // of nanWord, where nans is set
	nans     bool
	bits     int
	flag     bool // tells nulls (nullCode) from values (base) and no more
}

// extent is the words of a column's values: the least, the greatest, whether
// there is any and whether there is a NaN.
type extent struct {
	least, most uint64
	any, nans   bool
}

// plan makes the levels that order rows by keys.
func plan[R row](ctx context.Context, l *loops, s device.Stream, keys []kernels.SortKey) ([]level[R], error) {
	var fields []field[R]
	var levels []level[R]
	flush := func() {
		for len(fields) > 0 {
			l := level[R]{}
			for len(fields) > 0 && l.bits+fields[0].bits <= 64 {
				l.fields = append(l.fields, fields[0])
				l.bits += fields[0].bits
				fields = fields[1:]
			}
			levels = append(levels, l)
		}
	}
	for _, k := range keys {
		c := k.Values
		if c.Len() == 0 || c.Type().ID() == arrow.NULL {
			continue
		}
		if kernels.BinaryTypes.Has(c.Type().ID()) {
			flush()
			levels = append(levels, level[R]{text: newText(k), bits: 64})
			continue
		}
		more, err := keyFields[R](ctx, l, s, k)
		if err != nil {
			return nil, err
		}
		fields = append(fields, more...)
	}
	flush()
	return levels, nil
}

// keyFields are the fields of one key that has no strings of its own; none
// where all rows are equal.
func keyFields[R row](ctx context.Context, l *loops, s device.Stream, k kernels.SortKey) ([]field[R], error) {
	c := k.Values
	switch c.Type().ID() {
	case arrow.DICTIONARY:
		ranks, err := dictionaryRanks(ctx, l, s, k)
		if err != nil {
			return nil, err
		}
		k.Descending = false // the ranks fall already
		return newFields(ctx, k, rankWords[R](c, ranks), false)
	case arrow.DECIMAL128:
		high, err := newFields(ctx, k, decimalWords[R](c, true), false)
		if err != nil {
			return nil, err
		}
		low, err := newFields(ctx, k, decimalWords[R](c, false), true)
		return append(high, low...), err
	default:
		return newFields(ctx, k, fixedWords[R](c), false)
	}
}

// newFields makes the field of a key of the given words, or two where there is
// no code left for nulls. With told set, an earlier field tells nulls apart.
func newFields[R row](ctx context.Context, k kernels.SortKey, w words[R], told bool) ([]field[R], error) {
	f := field[R]{column: k.Values, words: w, nulls: hasNulls(k.Values), flip: k.Descending}
	floats := kernels.FloatTypes.Has(k.Values.Type().ID())
	e, err := f.extent(ctx, floats)
	if err != nil {
		return nil, err
	}
	f.nans = e.nans
	f.from = e.least
	if f.flip {
		f.from = e.most
	}
	last := e.most - e.least // the greatest code so far
	var all []field[R]
	if f.nulls && !told && last == math.MaxUint64 {
		flag := field[R]{column: k.Values, words: w, nulls: true, bits: 1, flag: true, nullCode: 1}
		if k.NullsFirst {
			flag.nullCode, flag.base = 0, 1
		}
		all, told = append(all, flag), true
	}
	extra := uint64(0)
	if e.nans {
		extra++
	}
	if f.nulls && !told {
		extra++
	}
	switch {
	case !e.any && extra < 2: // nothing but nulls, or nothing but NaNs
		return all, nil
	case !e.any:
		last = 0 // a code for no value does no harm
	}
	if k.NullsFirst {
		f.base, f.nullCode, f.nanCode = extra, 0, extra-1
	} else {
		f.base, f.nanCode, f.nullCode = 0, last+1, last+extra
	}
	if told {
		f.nullCode = 0
	}
	if f.bits = bits.Len64(last + extra); f.bits > 0 {
		all = append(all, f)
	}
	return all, nil
}

// extent reads the words of all values.
func (f *field[R]) extent(ctx context.Context, floats bool) (extent, error) {
	all := extent{least: math.MaxUint64}
	var mu sync.Mutex
	err := parallel(ctx, f.column.Len(), func(_ int, s span) error {
		e := extent{least: math.MaxUint64}
		var raw [block]uint64
		for from := s.from; from < s.to; from += block {
			w := raw[:min(block, s.to-from)]
			f.words.load(w, from)
			e.read(w, f.column, from, f.nulls, floats)
		}
		mu.Lock()
		defer mu.Unlock()
		all.least, all.most = min(all.least, e.least), max(all.most, e.most)
		all.any, all.nans = all.any || e.any, all.nans || e.nans
		return nil
	})
	if !all.any {
		all.least, all.most = 0, 0
	}
	return all, err
}

// read takes in the words of rows from a row on.
func (e *extent) read(w []uint64, c *memory.Column, from int64, nulls, floats bool) {
	if !nulls && !floats {
		least, most := e.least, e.most
		for _, x := range w {
			least, most = min(least, x), max(most, x)
		}
		e.least, e.most, e.any = least, most, true
		return
	}
	for i := 0; i < len(w); i += 64 {
		part := w[i:min(i+64, len(w))]
		valid := ^uint64(0)
		if nulls {
			valid = validWord(c, from+int64(i), int64(len(part)))
		}
		e.masked(part, valid, floats)
	}
}

// masked takes in up to 64 words, of nulls where valid has a 0: these have no
// branch of their own, which would be foretold wrongly where they are scattered.
func (e *extent) masked(w []uint64, valid uint64, floats bool) {
	least, most, any := e.least, e.most, uint64(0)
	for _, x := range w {
		mask := -(valid & 1)
		valid >>= 1
		if floats && x == nanWord {
			e.nans = e.nans || mask != 0
			continue
		}
		least, most, any = min(least, x|^mask), max(most, x&mask), any|mask
	}
	e.least, e.most, e.any = least, most, e.any || any != 0
}

// pack puts the field's codes below what dst holds. rows are those asked for,
// or nil for rows [from, from+len(dst)); raw is room for as many words.
func (f *field[R]) pack(dst, raw []uint64, rows []R, from int64) {
	raw = raw[:len(dst)]
	if !f.flag {
		if rows == nil {
			f.words.load(raw, from)
		} else {
			f.words.gather(raw, rows)
		}
	}
	f.add(dst, raw, rows, from)
}

// add is pack of raw words, which it changes.
func (f *field[R]) add(dst, raw []uint64, rows []R, from int64) {
	if f.nulls || f.nans {
		f.special(raw, rows, from)
	}
	shift, base := uint(f.bits), f.base
	switch {
	case f.flag || f.nulls || f.nans:
		for i, x := range raw {
			dst[i] = dst[i]<<shift | x
		}
	case f.flip:
		for i, x := range raw {
			dst[i] = dst[i]<<shift | (f.from - x + base)
		}
	default:
		base -= f.from
		for i, x := range raw {
			dst[i] = dst[i]<<shift | (x + base)
		}
	}
}

// special turns raw words into codes where some are of nulls or NaNs.
func (f *field[R]) special(raw []uint64, rows []R, from int64) {
	for i := 0; i < len(raw); i += 64 {
		part := raw[i:min(i+64, len(raw))]
		valid := ^uint64(0)
		switch {
		case f.nulls && rows == nil:
			valid = validWord(f.column, from+int64(i), int64(len(part)))
		case f.nulls:
			for j, r := range rows[i : i+len(part)] {
				if isNull(f.column, int64(r)) {
					valid &^= 1 << uint(j)
				}
			}
		}
		f.codes(part, valid)
	}
}

// codes turns up to 64 raw words into codes, without a branch for nulls, which
// are where valid has a 0.
func (f *field[R]) codes(part []uint64, valid uint64) {
	and, xor, add := ^uint64(0), uint64(0), f.base-f.from
	switch {
	case f.flag:
		and, add = 0, f.base
	case f.flip: // from - x + base
		xor, add = ^uint64(0), f.from+f.base+1
	}
	null, nans := f.nullCode, f.nans && !f.flag
	for j, x := range part {
		code := (x&and ^ xor) + add
		if nans && x == nanWord {
			code = f.nanCode
		}
		mask := -(valid & 1)
		valid >>= 1
		part[j] = code&mask | null&^mask
	}
}

// fill gives the words of up to block rows at a level; depth is how many bytes
// of the strings of a text level are behind.
// raw is room for as many words.
func (l *level[R]) fill(dst, raw []uint64, rows []R, from int64, depth int) {
	if l.text != nil {
		fillText(l.text, dst, rows, from, depth)
		return
	}
	clear(dst)
	for i := range l.fields {
		l.fields[i].pack(dst, raw, rows, from)
	}
}

// compare orders two rows by the level, as fill's words would from depth 0.
func (l *level[R]) compare(a, b R) int {
	if l.text != nil {
		return l.text.compare(int64(a), int64(b), 0)
	}
	var w, raw [2]uint64
	pair := [2]R{a, b}
	l.fill(w[:], raw[:], pair[:], 0, 0)
	switch {
	case w[0] < w[1]:
		return -1
	case w[0] > w[1]:
		return 1
	default:
		return 0
	}
}

// dictionaryRanks are the places of a dictionary's values in the order of the
// key, equal values having equal ones.
func dictionaryRanks(ctx context.Context, l *loops, s device.Stream, k kernels.SortKey) ([]uint64, error) {
	k.Values = k.Values.Dictionary()
	n := k.Values.Len()
	ranks := make([]uint64, n)
	if n == 0 {
		return ranks, nil
	}
	levels, err := plan[uint64](ctx, l, s, []kernels.SortKey{k})
	if err != nil {
		return nil, err
	}
	order := make([]uint64, n)
	if err := sortRows(ctx, l, s, levels, order, false); err != nil {
		return nil, err
	}
	rank := uint64(0)
	for i, r := range order[1:] {
		if i&(morsel-1) == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return nil, err
			}
		}
		for j := range levels {
			if levels[j].compare(order[i], r) != 0 {
				rank++
				break
			}
		}
		ranks[r] = rank
	}
	return ranks, nil
}
