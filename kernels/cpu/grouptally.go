package cpu

import (
	"context"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Most groupings sum and count one column, and want their groups in any order
// and their keys rather than rows that have them. These are tallied: what is
// kept of a group lies in one place, 16 bytes beside its key, so that a row
// costs one access to it, nothing is numbered, and no row is looked at again.
//
//   - Words of a small range have an array with a place for each (grouptallydense.go).
//   - Words of a large range that is full are cut by their low bits into parts whose
//     arrays stay in the second-level cache, together with their values (grouptallyparts.go).
//   - Other words, and texts of up to 15 bytes, which are two words, go into hash
//     tables that have words and tallies in their slots (grouptallyhash.go, grouptallytext.go).
//
// Rows are cut into chunks, by the data alone, each with tallies of its own that
// are added in the order of chunks: a sum does not depend on the threads.

// tally is a group's sum and its counts.
type tally[S float64 | int64] struct {
	sum    S
	counts uint64 // of rows, and from bit 32 on of values that are not null
}

// oneValue counts a row with a value, oneRow one without.
const (
	oneRow   = 1
	oneValue = 1<<32 | 1
)

// tallyStep is how many rows are folded at a time: few enough for what they
// touch in a table to stay in the first-level cache between two loops.
const tallyStep = 256

// tallying is one call.
type tallying[S float64 | int64] struct {
	l      *loops
	firsts bool // groups come in the order of their first rows (grouptallyfirst.go)
	ctx    context.Context
	a      *arena
	ks     *keyspace
	n      int64
	raw    []uint64 // the keys where they are words but for base
	base   uint64
	values []uint64 // their bits; nil where rows are only counted
	valid  memory.Bitmap
	at     int64 // the bit of row 0 in valid
	out    *tallyOut[S]
	rooms  stash[*tallyBatch[S]]
	hot    *sifting[S] // leaves out the rows of hot keys, if there are any

	looks bool          // sums are to be proved to fit their words
	reach atomic.Uint64 // the greatest distance of a value from 0 so far
}

// tallyBatch is a run of rows on its way into tallies.
type tallyBatch[S float64 | int64] struct {
	batch
	sums    [batchRows]uint64 // bits of values
	incs    [batchRows]uint64 // what each row adds to counts
	heads   [tallyStep]uint32
	numbers [batchRows]uint32 // of rows that follow each other

	texts  [tallyStep][2]uint64
	hashes [tallyStep]uint64

	picked *pickedRows // where not all rows go on
	lined  *linedRows  // where records go by way of lines
	sieved *sieveRows
	look   func(heads []uint32, records []uint64, slots *uint64, shift, mask, free uint64)

	outWords [tallyStep]uint64
	outs     [tallyStep]tally[S]
}

// tallyGroups groups with keys in place of first rows, in any order or in that of
// first appearance; nil where keys or aggregates are not of the kinds that can be
// tallied so, or where there turned out to be too many groups.
func (l *loops) tallyGroups(ctx context.Context, a *arena, ks *keyspace, n int64, aggs []kernels.Aggregate, firsts bool) (*kernels.Grouped, error) {
	var values *memory.Column
	looks := false
	for _, agg := range aggs {
		switch agg.Op {
		case kernels.CountAll:
			continue
		case kernels.Sum:
			looks = true
		case kernels.Count, kernels.SumWrapping, kernels.Mean:
		default:
			return nil, nil
		}
		if values == nil {
			values = agg.Values
		}
		if agg.Values != values || agg.Op == kernels.Mean && values.Type().ID() != arrow.FLOAT64 {
			return nil, nil
		}
	}
	switch {
	case n == 0 || n > maxRows || firsts && values != nil && hasNulls(values):
		return nil, nil
	case values == nil || values.Type().ID() == arrow.INT64:
		return newTallying(&tallying[int64]{l: l, firsts: firsts, ctx: ctx, a: a, ks: ks, n: n, looks: looks}, values, aggs)
	case values.Type().ID() == arrow.FLOAT64:
		return newTallying(&tallying[float64]{l: l, firsts: firsts, ctx: ctx, a: a, ks: ks, n: n}, values, aggs)
	}
	return nil, nil
}

// guessedKeyspace is the keyspace of a column of words whose range a sample
// shows to be small, widened a little: the range itself takes a pass over the
// keys, half as long as all the rest where groups are few. A word beyond it ends
// the call that believed in it. nil for other keys.
func guessedKeyspace(keys []*memory.Column) *keyspace {
	c := keys[0]
	n := c.Len()
	if len(keys) > 1 || n < 1<<17 || hasNulls(c) {
		return nil
	}
	switch c.Type().ID() {
	case arrow.INT64, arrow.TIMESTAMP, arrow.TIME64, arrow.DURATION, arrow.DATE64:
	default:
		return nil
	}
	values := memory.Values[int64](c)
	low, high := min(values[0], values[n-1]), max(values[0], values[n-1])
	const sample = 512
	for i := range int64(sample) {
		v := values[i*(n-1)/sample]
		low, high = min(low, v), max(high, v)
	}
	span := uint64(high) - uint64(low)
	if span > mostTallies {
		return nil
	}
	wider := int64(span/16 + 1)
	if low < math.MinInt64+wider || high > math.MaxInt64-wider {
		return nil
	}
	k := &keyColumn{c: c, base: uint64(low - wider), span: span + 2*uint64(wider), encode: encodeInts[int64]}
	k.withNull()
	return &keyspace{cols: []*keyColumn{k}, exact: true, width: k.bits, card: k.span + 1, guessed: true}
}

func newTallying[S float64 | int64](t *tallying[S], values *memory.Column, aggs []kernels.Aggregate) (*kernels.Grouped, error) {
	t.rooms.make = func() (*tallyBatch[S], error) { return &tallyBatch[S]{look: t.l.sieve.look}, nil }
	if values != nil {
		t.values = memory.Values[uint64](values)
		if hasNulls(values) {
			t.valid, t.at = values.Validity(), values.Offset()
		}
	}
	var err error
	if t.out, err = newTallyOut[S](t.a, t.ks, aggs, t.valid != nil); t.out == nil || err != nil {
		return nil, err
	}
	done, err := t.tally()
	if done && err == nil && !t.proved() {
		t.out.whole.Release()
		done = false
	}
	if !done || err != nil {
		return nil, err
	}
	return t.out.grouped()
}

// tally does it by the way that suits the keys.
func (t *tallying[S]) tally() (done bool, err error) {
	if t.out.text {
		return t.texts()
	}
	if k := t.ks.cols[0]; len(t.ks.cols) == 1 && k.words == nil && memory.Width(k.c.Type()) == 8 && !hasNulls(k.c) {
		t.raw, t.base = memory.Values[uint64](k.c), k.base
	}
	switch card := t.ks.card; {
	case t.fewPlaces(card):
		return t.dense(int(card))
	case t.ks.small(t.n) && card < 1<<62 && !t.ks.guessed && (!t.firsts || card <= 1<<32):
		return true, t.denseParts(card)
	case t.ks.guessed:
		return false, nil
	}
	return t.hashed()
}

// load gives the words of rows from, their values, and what they add to counts.
func (t *tallying[S]) load(b *tallyBatch[S], from int64, n int) (words []uint64, sums []S, incs []uint64) {
	words = t.loadWords(b, from, n)
	sums, incs = t.loadValues(b)
	return words, sums, incs
}

// loadWords gives the words of rows from.
func (t *tallying[S]) loadWords(b *tallyBatch[S], from int64, n int) []uint64 {
	b.span(from, n)
	if t.raw != nil {
		return t.raw[from:][:n]
	}
	if t.ks.fill(&b.batch) {
		b.compact()
	}
	return b.words[:b.n]
}

// loadValues gives the values of a batch and what they add to counts. Every row
// that is tallied comes by here, so that the extremes seen are those of all.
func (t *tallying[S]) loadValues(b *tallyBatch[S]) (sums []S, incs []uint64) {
	sums, incs = t.takeValues(b)
	if t.looks && len(sums) > 0 {
		t.look(bitsOf(sums))
	}
	return sums, incs
}

// look takes note of how far from 0 values are while they are in the cache.
func (t *tallying[S]) look(values []uint64) {
	v := sumsOf[int64](values)
	low, high := t.l.reduce.i64.extremes(v, v[0], v[0])
	reach := magnitude(uint64(low), uint64(high))
	for was := t.reach.Load(); reach > was && !t.reach.CompareAndSwap(was, reach); {
		was = t.reach.Load()
	}
}

// proved reports whether no sum of the values that were seen can have wrapped.
// Where one can, the tallies are dropped and the rows are aggregated exactly.
func (t *tallying[S]) proved() bool {
	return !t.looks || t.reach.Load() <= (1<<63-1)/uint64(t.n)
}

func (t *tallying[S]) takeValues(b *tallyBatch[S]) (sums []S, incs []uint64) {
	switch {
	case t.values == nil:
		incs = b.incs[:b.n]
		if incs[:1:1][0] != oneRow {
			fillWith(b.incs[:], oneRow)
			clear(b.sums[:])
		}
		return sumsOf[S](b.sums[:b.n]), incs
	case t.valid == nil && b.rows == nil:
		return sumsOf[S](t.values[b.from:][:b.n]), nil
	case t.valid == nil:
		for j, row := range b.rows {
			b.sums[j] = t.values[row]
		}
		return sumsOf[S](b.sums[:b.n]), nil
	case b.rows == nil:
		t.maskValues(b)
	default:
		for j, row := range b.rows {
			i := t.at + int64(row)
			has := uint64(t.valid[i>>3] >> (i & 7) & 1)
			b.sums[j], b.incs[j] = t.values[row]&-has, has<<32|oneRow
		}
	}
	return sumsOf[S](b.sums[:b.n]), b.incs[:b.n]
}

// maskValues makes values under nulls 0, which no sum notices: one that began
// as 0 is never -0.
func (t *tallying[S]) maskValues(b *tallyBatch[S]) {
	values := t.values[b.from:][:b.n]
	at := t.at + int64(b.from)
	for i := 0; i < len(values); i += 64 {
		k := min(64, len(values)-i)
		w := t.valid.Word(at+int64(i), int64(k))
		from, sums, incs := values[i:][:k], b.sums[i:][:k], b.incs[i:][:k]
		for j, v := range from {
			has := w >> uint(j&63) & 1
			sums[j], incs[j] = v&-has, has<<32|oneRow
		}
	}
}

func fillWith(v []uint64, x uint64) {
	for i := range v {
		v[i] = x
	}
}

// sumsOf are words as the values whose bits they are.
func sumsOf[S float64 | int64](bits []uint64) []S {
	return unsafe.Slice((*S)(unsafe.Pointer(unsafe.SliceData(bits))), len(bits))
}

// inRuns says that most rows of a batch have the word of the row before. Both
// ways of folding add in the same order: it costs time to be wrong, and no more.
func inRuns(words []uint64) bool {
	equal, seen := 0, 0
	for j := 1; j < len(words); j += 16 {
		if words[j] == words[j-1] {
			equal++
		}
		seen++
	}
	return 4*equal > 3*seen
}

// bitsOf are the bits of values.
func bitsOf[S float64 | int64](v []S) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}

// valueOf is the value whose bits are given.
func valueOf[S float64 | int64](bits uint64) S { return *(*S)(unsafe.Pointer(&bits)) }
