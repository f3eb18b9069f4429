package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// smallClose makes parts, chunks and blocks of joins of close keys small.
func smallClose(t *testing.T, part, chunk uint, block uint64) {
	oldPart, oldChunk, oldBlock := closeBits, closeChunk, closeBlock
	closeBits, closeChunk, closeBlock = part, chunk, block
	t.Cleanup(func() { closeBits, closeChunk, closeBlock = oldPart, oldChunk, oldBlock })
}

// closeShape is two sides of keys from least on. The right ones are distinct, of a range
// of so many; left ones are drawn from it, and from as many on either side of it as
// beyond says.
type closeShape struct {
	name        string
	typ         arrow.DataType
	least       int64
	left, right int
	span        int
	beyond      int
	nulls       bool
	columns     []arrow.DataType // of the right side beside the key
	key         bool             // it has the key, too
	twice       bool             // one key is
	none        bool             // right keys are all null
	other       bool             // joined in another way
}

var closeInts = []arrow.DataType{arrow.PrimitiveTypes.Int64}

var closeShapes = []closeShape{
	{name: "all there", typ: arrow.PrimitiveTypes.Int64, least: -7, left: 9000, right: 9000, span: 9000, columns: closeInts},
	{name: "all there, of another type", typ: arrow.FixedWidthTypes.Timestamp_us, least: 1 << 50, left: 3000, right: 9000, span: 9000, columns: []arrow.DataType{arrow.PrimitiveTypes.Float64}, key: true},
	{name: "with holes", typ: arrow.PrimitiveTypes.Int64, least: math.MinInt64, left: 8000, right: 5000, span: 9000, columns: closeInts, key: true},
	{name: "and beyond", typ: arrow.PrimitiveTypes.Int64, least: math.MaxInt64 - 6500, left: 9000, right: 5000, span: 6500, beyond: 3000, nulls: true, columns: []arrow.DataType{arrow.PrimitiveTypes.Float64}},
	{name: "narrow", typ: arrow.PrimitiveTypes.Int32, least: -2500, left: 9000, right: 5000, span: 5000, columns: []arrow.DataType{arrow.PrimitiveTypes.Int32}},
	{name: "narrow and beyond", typ: arrow.PrimitiveTypes.Int32, least: -2500, left: 9000, right: 5000, span: 7000, beyond: 800, nulls: true, columns: []arrow.DataType{arrow.PrimitiveTypes.Uint16}, key: true},
	{name: "narrow at the end", typ: arrow.PrimitiveTypes.Uint32, least: math.MaxUint32 - 4999, left: 9000, right: 5000, span: 5000, columns: []arrow.DataType{arrow.PrimitiveTypes.Int8}},
	{name: "dates at the beginning", typ: arrow.FixedWidthTypes.Date32, least: math.MinInt32, left: 4000, right: 5000, span: 5600, columns: closeInts},
	{name: "keys alone", typ: arrow.PrimitiveTypes.Uint64, least: 5, left: 4000, right: 3000, span: 3500, beyond: 5, key: true},
	{name: "several columns", typ: arrow.PrimitiveTypes.Int64, left: 4000, right: 3000, span: 3500, columns: []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32}},
	{name: "texts", typ: arrow.PrimitiveTypes.Int64, left: 4000, right: 3000, span: 3000, nulls: true, columns: []arrow.DataType{arrow.BinaryTypes.String}},
	{name: "few left rows", typ: arrow.PrimitiveTypes.Int64, left: 3, right: 3000, span: 3500, columns: closeInts},
	{name: "no left key is there", typ: arrow.PrimitiveTypes.Int64, least: 1 << 40, left: 500, right: 1, span: 1, beyond: 1000, columns: closeInts},
	{name: "no right key", typ: arrow.PrimitiveTypes.Int64, left: 700, right: 3, span: 3, none: true, columns: closeInts},
	{name: "a key comes twice", typ: arrow.PrimitiveTypes.Int64, left: 4000, right: 3000, span: 3500, columns: closeInts, twice: true, other: true},
	{name: "far keys", typ: arrow.PrimitiveTypes.Int64, left: 4000, right: 3000, span: 9000, columns: closeInts, other: true},
}

// sides makes the columns: left rows have their number and the key.
func (c *closeShape) sides(t *testing.T, r *rand.Rand) (sides [2]kernels.JoinSide) {
	keys := r.Perm(c.span)[:c.right]
	if c.right > 1 { // the whole range
		keys[0], keys[1] = 0, c.span-1
		rest := slices.DeleteFunc(r.Perm(c.span), func(k int) bool { return k == 0 || k == c.span-1 })
		copy(keys[2:], rest)
		r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	}
	if c.twice {
		keys[c.right/3] = keys[c.right-1]
	}
	const before = 3 // rows of the buffers in front of the columns
	column := func(rows int, typ arrow.DataType, at func(i int) int64, null func(i int) bool) *memory.Column {
		whole := makeColumn(t, typ, before+rows, func(i int) kernels.Scalar {
			if i -= before; i < 0 || null != nil && null(i) {
				return kernels.Null(typ)
			}
			return kernels.Int(typ, at(i))
		})
		c, err := whole.Slice(before, int64(rows))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Release)
		return c
	}
	seldom := func(int) bool { return c.nulls && r.IntN(9) == 0 }
	right := column(c.right, c.typ, func(i int) int64 { return c.least + int64(keys[i]) }, func(i int) bool { return c.none || seldom(i) && keys[i] != 0 && keys[i] != c.span-1 })
	left := column(c.left, c.typ, func(int) int64 {
		k := c.least + int64(r.IntN(c.span))
		switch {
		case c.beyond > 0 && (c.span == 1 || r.IntN(3) == 0):
			k = c.least - int64(1+r.IntN(c.beyond))
		case c.beyond > 0 && r.IntN(3) == 0:
			k = c.least + int64(c.span+r.IntN(c.beyond)) // which may wrap
		}
		return k
	}, seldom)
	sides[0] = kernels.JoinSide{Keys: []*memory.Column{left}, Columns: []*memory.Column{wholeInts(t, c.left), left}}
	sides[1] = kernels.JoinSide{Keys: []*memory.Column{right}}
	for _, typ := range c.columns {
		if typ.ID() == arrow.STRING {
			sides[1].Columns = append(sides[1].Columns, textsWithNulls(t, c.right, func(i int) (string, bool) { return fmt.Sprint(i), i%5 > 0 }))
			continue
		}
		sides[1].Columns = append(sides[1].Columns, column(c.right, typ, func(i int) int64 { return int64(i % 127) }, nil))
	}
	if c.key {
		sides[1].Columns = append(sides[1].Columns, right)
	}
	return sides
}

// A join of close keys has the pairs of a table that is probed, in left order, whatever
// the keys, how much they leave out on either side and what the right side has, on every
// tier and with 1, 2 and 7 threads, and of parts, chunks and blocks of several sizes.
// Where a key comes twice or keys are far they are joined in another way.
func TestJoinCloseLikeProbe(t *testing.T) {
	ctx, r := context.Background(), rand.New(rand.NewPCG(testSeed, 71))
	d := host.New()
	defer d.Close()
	plain := &kernels.Backend{Device: d, Set: withoutJoinColumns()}
	s, err := plain.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for turn, shape := range closeShapes {
		sides := shape.sides(t, r)
		joined, err := plain.JoinColumns(ctx, s, sides[0], sides[1], kernels.JoinOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := allJoined(ctx, plain, s, joined, 1)
		joined.Release()
		if err != nil {
			t.Fatal(err)
		}
		for way, size := range []struct {
			part, chunk uint
			block       uint64
		}{{6, 7, 1 << 12}, {1, 9, 1}, {16, 19, 8 << 20}} {
			if raceDetector && way != turn%3 {
				continue
			}
			smallClose(t, size.part, size.chunk, size.block)
			o := kernels.JoinOptions{Distinct: true, AnyOrder: turn%2 == 0 && !shape.other}
			eachSame(t, shape.name, func(b *kernels.Backend, s device.Stream) ([]*memory.Column, error) {
				joined, err := b.JoinColumns(ctx, s, sides[0], sides[1], o)
				if err != nil {
					return nil, err
				}
				defer joined.Release()
				if _, is := joined.(*closeJoin); is == shape.other {
					t.Errorf("%s: the join is a %T", shape.name, joined)
				}
				got, err := allJoined(ctx, b, s, joined, []int64{1, 1 << 10, 1 << 22}[way])
				if err == nil && len(got) != len(want) {
					t.Errorf("%s: %d columns, want %d", shape.name, len(got), len(want))
				}
				for k, c := range got {
					if !alikeColumns(c, want[k]) {
						t.Errorf("%s, %+v: column %d of %d rows is not that of a table, of %d", shape.name, size, k, c.Len(), want[k].Len())
					}
				}
				return got, err
			})
		}
		releaseAll(want)
	}
}

// linedSet is the best tier's kernels where records go by lines.
func linedSet() *kernels.Set {
	names, all := available()
	by := *all[len(all)-1]
	by.lines.from, by.lines.joinFrom, by.lines.closeFrom, by.lines.cutFrom = 1, 1, 1, 1
	return by.set(names[len(names)-1])
}

// A right row that carries what stands for no partner is found all the same.
func TestJoinCloseNone(t *testing.T) {
	smallClose(t, 4, 5, 1)
	b, s, _ := counted(t)
	b.Set = linedSet()
	none := uint64(closeNone)
	keys, carried := fixedColumn(t, arrow.PrimitiveTypes.Int64, []int64{3, 1, 2}), fixedColumn(t, arrow.PrimitiveTypes.Uint64, []uint64{5, none, 7})
	defer keys.Release()
	defer carried.Release()
	for i, side := range []kernels.JoinSide{{Keys: []*memory.Column{keys}, Columns: []*memory.Column{carried}}, {Keys: []*memory.Column{keys}, Columns: []*memory.Column{keys}}} {
		joined, err := b.JoinColumns(t.Context(), s, kernels.JoinSide{Keys: []*memory.Column{keys}}, side, kernels.JoinOptions{Distinct: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, is := joined.(*closeJoin); is != (i == 1) {
			t.Errorf("the join is a %T", joined)
		}
		all, err := allJoined(t.Context(), b, s, joined, 10)
		if err != nil {
			t.Fatal(err)
		}
		if got := memory.Values[uint64](all[0]); i == 0 && !slices.Equal(got, []uint64{5, none, 7}) || i == 1 && !slices.Equal(got, []uint64{3, 1, 2}) {
			t.Errorf("%v came", got)
		}
		releaseAll(all)
		joined.Release()
	}
}

// In left order more pairs than are allowed are refused.
func TestJoinCloseLimit(t *testing.T) {
	smallClose(t, 4, 5, 1)
	b, s, _ := counted(t)
	b.Set = linedSet()
	left, right := fixedColumn(t, arrow.PrimitiveTypes.Int64, []int64{3, 1, 2, 4, 9, 1}), fixedColumn(t, arrow.PrimitiveTypes.Int64, []int64{3, 1, 2})
	defer left.Release()
	defer right.Release()
	for most, want := range map[int64]bool{0: true, 4: true, 3: false} {
		joined, err := b.JoinColumns(t.Context(), s, kernels.JoinSide{Keys: []*memory.Column{left}, Columns: []*memory.Column{left}}, kernels.JoinSide{Keys: []*memory.Column{right}},
			kernels.JoinOptions{Distinct: true, MaxPairs: most})
		var refused *kernels.PairsError
		if got := err == nil; got != want || !got && (!errors.As(err, &refused) || refused.Pairs != 4 || refused.Max != most) {
			t.Errorf("at most %d pairs: %v", most, err)
		}
		if err == nil {
			joined.Release()
		}
	}
}

// A join of close keys gives all back when memory ends or its context does, wherever
// that is, and loses no row where it is asked again.
func TestJoinCloseFails(t *testing.T) {
	smallClose(t, 5, 6, 1<<10)
	b, s, count := counted(t)
	b.Set = linedSet()
	for _, i := range []int{0, 3, 5, 9} {
		shape := closeShapes[i]
		shape.left, shape.right, shape.span = shape.left/10, shape.right/10, shape.span/10
		sides := shape.sides(t, rand.New(rand.NewPCG(testSeed, 72)))
		join := func(ctx context.Context, b *kernels.Backend, s device.Stream) (rows int64, err error) {
			joined, err := b.JoinColumns(ctx, s, sides[0], sides[1], kernels.JoinOptions{Distinct: true})
			if err != nil {
				return 0, err
			}
			defer joined.Release()
			all, err := allJoined(ctx, b, s, joined, 1)
			if err != nil {
				return 0, err
			}
			defer releaseAll(all)
			return all[0].Len(), nil
		}
		before := count.Stats().Blocks
		want, err := join(t.Context(), b, s)
		if err != nil {
			t.Fatal(err)
		}
		refused, ended := 0, 0
		for n := int64(0); ; n++ {
			f := &failingOnce{Allocator: count}
			f.left.Store(n)
			d := host.New(host.WithAllocator(f))
			other, err := d.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			rows, err := join(t.Context(), &kernels.Backend{Device: d, Set: b.Set}, other)
			if err != nil && !errors.Is(err, device.ErrOutOfMemory) || err == nil && rows != want {
				t.Fatalf("%s, without block %d: %d rows, want %d: %v", shape.name, n, rows, want, err)
			}
			if err != nil {
				refused++
			}
			if err := errors.Join(other.Close(), d.Close()); err != nil {
				t.Fatal(err)
			}
			if f.left.Load() >= 0 {
				break
			}
		}
		for looks := int64(0); ; looks++ {
			ctx := &endsAfter{Context: t.Context()}
			ctx.looks.Store(looks)
			rows, err := join(ctx, b, s)
			if err == nil && rows == want {
				break
			}
			if ended++; !errors.Is(err, device.ErrCanceled) {
				t.Fatalf("%s, after %d looks at the context: %d rows, %v", shape.name, looks, rows, err)
			}
		}
		again := 0
		for looks := int64(0); looks < 40; looks++ {
			joined, err := b.JoinColumns(t.Context(), s, sides[0], sides[1], kernels.JoinOptions{Distinct: true})
			if err != nil {
				t.Fatal(err)
			}
			all, err := allJoined(t.Context(), b, s, &endedNext{JoinRows: joined, looks: looks, ended: &again}, 1)
			joined.Release()
			if err != nil {
				t.Fatalf("%s, asked again after %d looks: %v", shape.name, looks, err)
			}
			if rows := all[0].Len(); rows != want {
				t.Fatalf("%s, asked again after %d looks: %d rows, want %d", shape.name, looks, rows, want)
			}
			releaseAll(all)
		}
		if again == 0 {
			t.Errorf("%s: no context ended while rows were asked for", shape.name)
		}
		if refused < 5 || ended < 20 {
			t.Errorf("%s: refused %d times, ended %d times", shape.name, refused, ended)
		}
		if after := count.Stats().Blocks; after != before {
			t.Errorf("%s: %d blocks are held, not %d", shape.name, after, before)
		}
	}
}

// endedNext asks for rows with a context that ends after so many looks, and then again.
type endedNext struct {
	kernels.JoinRows
	looks int64
	ended *int
}

func (e *endedNext) Next(ctx context.Context, rows int64) ([]*memory.Column, error) {
	ends := &endsAfter{Context: ctx}
	ends.looks.Store(e.looks)
	columns, err := e.JoinRows.Next(ends, rows)
	if errors.Is(err, device.ErrCanceled) {
		*e.ended++
		return e.JoinRows.Next(ctx, rows)
	}
	return columns, err
}

// The array of a part, of whose keys nobody knows how often they come, is filled in steps:
// a context that ends is heard in between, and after a key that comes twice no more are.
func TestFillClose(t *testing.T) {
	array, records := make([]uint64, 1<<20), make([]joinRecord, 3*partBlock)
	for i := range records {
		records[i] = joinRecord{hash: uint64(i), carried: uint64(i)}
	}
	for looks, want := range []error{device.ErrCanceled, device.ErrCanceled, nil} {
		ctx := &endsAfter{Context: t.Context()}
		ctx.looks.Store(int64(looks))
		if err := fillClose(ctx, array, records); !errors.Is(err, want) {
			t.Errorf("after %d looks: %v", looks, err)
		}
	}
	for i, v := range array {
		if want := uint64(i); i < len(records) && v != want || i >= len(records) && v != closeNone {
			t.Fatalf("place %d has %#x", i, v)
		}
	}
	records[1].hash = 7 // of the first step
	if err := fillClose(t.Context(), array, records); !errors.Is(err, errNotClose) || array[partBlock] != closeNone {
		t.Errorf("a key comes twice: %v, and the next step's first place has %#x", err, array[partBlock])
	}
	records[len(records)-1] = joinRecord{1 << 19, closeNone}
	if err := fillClose(t.Context(), array, records[len(records)-1:]); !errors.Is(err, errNotClose) {
		t.Errorf("what stands for none is carried: %v", err)
	}
}

// failingOnce fails once, after so many blocks.
type failingOnce struct {
	memory.Allocator
	left atomic.Int64
}

func (f *failingOnce) Allocate(size int64) (memory.Block, error) {
	if f.left.Add(-1) == -1 {
		return memory.Block{}, &memory.OutOfMemory{Place: f.Place(), Requested: size, InUse: -1, Limit: -1}
	}
	return f.Allocator.Allocate(size)
}
