package gpu

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// TestEntries launches every entry of every module with as few work-items as it
// can, and holds what they give to the reference: the conformance suite at its
// least extent, then what that does not reach. It is what simulators run, so
// an entry that is launched nowhere fails it by name.
func TestEntries(t *testing.T) {
	eachDevice(t, func(t *testing.T, e *Engine) {
		r := &recorder{Device: e.dev, launched: map[string]bool{}}
		b := &kernels.Backend{Device: e.dev, Set: e.set()}
		e.dev = r // which loads the modules; streams are the device's own
		kerneltest.Run(t, b, kerneltest.Size(kerneltest.Least), kerneltest.SumShape())
		l := &least{b: b}
		var err error
		if l.s, err = b.NewStream(); err != nil {
			t.Fatal(err)
		}
		defer l.s.Close()
		cpu := host.New()
		l.reference = &kernels.Backend{Device: cpu, Set: reference.New()}
		if l.hs, err = cpu.NewStream(); err != nil {
			t.Fatal(err)
		}
		l.c = e.begin(context.Background(), l.s)
		for _, part := range []struct {
			name string
			run  func(*testing.T)
		}{{"Elements", l.elements}, {"Rows", l.rows}, {"Lists", l.lists}, {"Groups", l.groups}, {"Parts", l.parts}, {"Joins", l.joins}, {"Sort", l.sort}, {"Matrix", l.matrix}} {
			t.Run(part.name, part.run)
		}
		if l.c.end(&err); err != nil {
			t.Error(err)
		}
		t.Run("All", func(t *testing.T) { r.holdEntries(t, e.dialect) })
	})
}

// least calls kernels with few rows, on the device and on the reference.
type least struct {
	b, reference *kernels.Backend
	s, hs        device.Stream
	c            *call // on s
}

// leastRows are more than a word's bits and no multiple of them.
const leastRows = 37

// side is one of the two: a backend, its stream, and what brings arguments
// there.
type side struct {
	*kernels.Backend
	s  device.Stream
	on func(*memory.Column) *memory.Column
}

// same holds what f gives on the device to what it gives on the reference.
func (l *least) same(t *testing.T, what string, f func(side) (*memory.Column, error)) {
	t.Helper()
	l.alike(t, what, func(at side) ([]*memory.Column, error) {
		c, err := f(at)
		return []*memory.Column{c}, err
	})
}

// alike is same for several columns.
func (l *least) alike(t *testing.T, what string, f func(side) ([]*memory.Column, error)) {
	t.Helper()
	want, err := f(side{l.reference, l.hs, func(c *memory.Column) *memory.Column { return c }})
	if err != nil {
		t.Fatalf("%s on the reference: %v", what, err)
	}
	got, err := f(side{l.b, l.s, func(c *memory.Column) *memory.Column {
		there, err := device.Move(t.Context(), l.s, l.b.Device.Memory(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(there.Release)
		return there
	}})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Run(what, func(t *testing.T) {
		for i, c := range want {
			holds(t, l.c, got[i], nil, kernels.Scalars(c))
			c.Release()
		}
	})
}

// column is n values on the host.
func (l *least) column(t *testing.T, typ arrow.DataType, n int, value func(i int) kernels.Scalar) *memory.Column {
	t.Helper()
	v := make([]kernels.Scalar, n)
	for i := range v {
		v[i] = value(i)
	}
	c, err := kernels.FromScalars(memory.Heap, typ, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// small is a small number of a type, the fifth null.
func small(t arrow.DataType, i int) kernels.Scalar {
	v := int64(i%11 + 1)
	switch {
	case i == 4:
		return kernels.Null(t)
	case isFloat(t):
		return kernels.Float(t, float64(v))
	case t.ID() == arrow.DECIMAL128:
		return kernels.Decimal(t, decimal128.FromI64(v))
	}
	return kernels.Int(t, v)
}

var numberTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8,
	arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal128Type{Precision: 12, Scale: 2},
}

// elements are the operations of each type that an entry of its own has.
func (l *least) elements(t *testing.T) {
	ctx := context.Background()
	for _, typ := range numberTypes {
		x := l.column(t, typ, leastRows, func(i int) kernels.Scalar { return small(typ, i) })
		y := l.column(t, typ, leastRows, func(i int) kernels.Scalar { return small(typ, i*3+1) })
		for _, o := range []kernels.ArithmeticOptions{{}, {Checked: true}} {
			for _, op := range []kernels.UnaryOp{kernels.Negate, kernels.Abs, kernels.Sign, kernels.Sqrt, kernels.Floor} {
				if _, err := kernels.UnaryType(op, typ); err != nil || o.Checked && op == kernels.Negate && kernels.UnsignedTypes.Has(typ.ID()) {
					continue
				}
				l.same(t, fmt.Sprint(op, typ, o), func(at side) (*memory.Column, error) { return at.Unary(ctx, at.s, op, at.on(x), o) })
			}
			for _, op := range []kernels.ArithmeticOp{kernels.Add, kernels.Divide} {
				l.same(t, fmt.Sprint(op, typ, o), func(at side) (*memory.Column, error) {
					return at.Arithmetic(ctx, at.s, op, at.on(x), at.on(y), o)
				})
			}
		}
	}
	truth := l.column(t, arrow.FixedWidthTypes.Boolean, leastRows, func(i int) kernels.Scalar { return kernels.Bool(i == 30) })
	l.same(t, "any", func(at side) (*memory.Column, error) {
		return at.Reduce(ctx, at.s, kernels.Any, at.on(truth), kernels.AggregateOptions{})
	})
	l.alike(t, "cross", func(at side) ([]*memory.Column, error) {
		p, err := at.Cross(ctx, at.s, 3, 7, 9)
		if err != nil {
			return nil, err
		}
		return []*memory.Column{p.Left, p.Right}, nil
	})
}

// rows are row numbers of 64 bits, which only columns of billions of rows have.
func (l *least) rows(t *testing.T) {
	ctx := context.Background()
	u64 := arrow.PrimitiveTypes.Uint64
	indices := l.column(t, u64, leastRows, func(i int) kernels.Scalar { return kernels.Int(u64, int64(i*5%leastRows)) })
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, u64, numberTypes[len(numberTypes)-1]} {
		x := l.column(t, typ, leastRows, func(i int) kernels.Scalar { return small(typ, i) })
		for _, trusted := range []bool{false, true} {
			l.same(t, fmt.Sprint("take ", typ, trusted), func(at side) (*memory.Column, error) {
				return at.Take(ctx, at.s, at.on(x), at.on(indices), kernels.TakeOptions{Trusted: trusted})
			})
		}
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
		x := l.column(t, typ, leastRows, func(i int) kernels.Scalar { return kernels.Text(typ, strings.Repeat("ab", i%20)) })
		for _, trusted := range []bool{false, true} {
			l.same(t, fmt.Sprint("take ", typ, trusted), func(at side) (*memory.Column, error) {
				return at.Take(ctx, at.s, at.on(x), at.on(indices), kernels.TakeOptions{Trusted: trusted})
			})
		}
	}
	c := l.c
	var numbers, flags [][]uint64
	at, values := c.toDevice(indices), c.toDevice(l.column(t, u64, leastRows, func(i int) kernels.Scalar { return small(u64, i/3) }))
	defer at.Release()
	defer values.Release()
	for _, width := range []int{4, 8} {
		testRows(t, c, leastRows, width)
		out, ends := c.temp(int64(width)*leastRows), c.temp(4*leastRows)
		c.launch(rowsModule("rows", width), "rows_number", 1, int32(kindU64), c.values(at, 8), c.validity(at), out, int64(leastRows), int64(30), c.noPosition())
		numbers = append(numbers, bytesWords(c.read(out, 0, int64(width)*leastRows), width))
		for i, n := range numbers[len(numbers)-1] {
			if want := uint64(i * 5 % leastRows); n != want && (want < 30 || n != 1<<(8*width)-1) {
				t.Errorf("index %d with %d bytes: row %d, want %d", i, width, n, want)
			}
		}
		c.launch(rowsModule("sortranks", width), "rank_flags", 1, int32(kindU64), c.data(values), c.validity(values), c.iota(leastRows, width), ends, int64(leastRows))
		flags = append(flags, bytesWords(c.read(ends, 0, 4*leastRows), 4))
	}
	if !slices.Equal(flags[0], flags[1]) || !slices.Contains(flags[0], 0) || !slices.Contains(flags[0], 1) {
		t.Errorf("where values begin: %v with 4 bytes, %v with 8", flags[0], flags[1])
	}
}

// lists are the items of lists, for row numbers of both widths before and after.
func (l *least) lists(t *testing.T) {
	c, i16 := l.c, arrow.PrimitiveTypes.Int16
	for _, typ := range []arrow.DataType{arrow.ListOf(i16), arrow.LargeListOf(i16)} {
		host := l.column(t, typ, leastRows, func(i int) kernels.Scalar {
			items := make([]kernels.Scalar, i%5)
			for k := range items {
				items[k] = kernels.Int(i16, int64(i+k))
			}
			return kernels.Nested(typ, items)
		})
		col, err := device.Move(t.Context(), l.s, l.b.Device.Memory(), host)
		if err != nil {
			t.Fatal(err)
		}
		var taken []uint64
		from, first := make([]uint64, leastRows), make([]uint64, leastRows+1)
		for i := range leastRows {
			first[i+1] = first[i] + uint64(i%5)
		}
		for i := range from {
			from[i] = uint64(i * 5 % leastRows)
			for k := first[from[i]]; k < first[from[i]+1]; k++ {
				taken = append(taken, k)
			}
		}
		for _, width := range []int{4, 8} {
			r := rows{vector: vector{c.upload(wordBytes(from, width)), 0}, width: width, n: leastRows}
			ends, total := c.gatherOffsets(col, r)
			starts := c.temp(8)
			c.launch(longModule(col, r), "gather_starts", 1, ends, r.n, int64(gatherItemsChunk), starts, int64(1))
			for _, wide := range []int{4, 8} {
				items := c.gatherItems(col, r, ends, starts, total, wide)
				if got := bytesWords(c.read(items.buffer, 0, total*int64(wide)), wide); !slices.Equal(got, taken) {
					t.Errorf("items of %s by rows of %d bytes as numbers of %d: %v, want %v", typ, width, wide, got, taken)
				}
			}
		}
		col.Release()
	}
}

// groups are the ways to number and to aggregate groups that few rows do not
// take by themselves.
func (l *least) groups(t *testing.T) {
	ctx := context.Background()
	f64, u32 := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Uint32
	values := l.column(t, f64, leastRows, func(i int) kernels.Scalar { return small(f64, i) })
	for _, n := range []int64{5, 3000} { // in local memory, and too many for it
		ids := l.column(t, u32, leastRows, func(i int) kernels.Scalar { return kernels.Int(u32, int64(i*7)%n) })
		for _, op := range []kernels.Aggregation{kernels.Sum, kernels.Min, kernels.Product} {
			l.same(t, fmt.Sprint(op, n), func(at side) (*memory.Column, error) {
				return at.Aggregate(ctx, at.s, op, at.on(values), at.on(ids), n, kernels.AggregateOptions{})
			})
		}
		whole := l.column(t, u32, leastRows, func(i int) kernels.Scalar { return small(u32, i) })
		for _, op := range []kernels.Aggregation{kernels.Product, kernels.Sum, kernels.All} {
			if _, err := kernels.AggregateType(op, u32); err != nil {
				continue
			}
			l.same(t, fmt.Sprint(op, " of integers ", n), func(at side) (*memory.Column, error) {
				return at.Aggregate(ctx, at.s, op, at.on(whole), at.on(ids), n, kernels.AggregateOptions{})
			})
		}
		truths := l.column(t, arrow.FixedWidthTypes.Boolean, leastRows, func(i int) kernels.Scalar {
			if i == 4 {
				return kernels.Null(arrow.FixedWidthTypes.Boolean)
			}
			return kernels.Bool(i%3 > 0)
		})
		for _, op := range []kernels.Aggregation{kernels.Any, kernels.All, kernels.Min, kernels.Max} {
			l.same(t, fmt.Sprint(op, " of truths ", n), func(at side) (*memory.Column, error) {
				return at.Aggregate(ctx, at.s, op, at.on(truths), at.on(ids), n, kernels.AggregateOptions{})
			})
		}
	}
	testAnyOrder(t, l.c, leastRows, 20)
}

func (l *least) parts(t *testing.T) { testParts(t, l.c, 200, 60) }

// joins are by parts, with keys of each kind: of a row each, of several, of most
// rows, and null, which is a key as any other.
func (l *least) joins(t *testing.T) {
	const n = 100
	tuning := l.c.e.joins
	defer func() { l.c.e.joins = tuning }()
	l.c.e.joins = joinTuning{tableMost: 64, partRows: 16, partMost: 32}
	for _, x := range []struct {
		note string
		key  func(i int) int64 // null where it is below 0
		want joinShape
	}{
		{"one row each", func(i int) int64 { return int64(i) }, joinShape{parts: true, alone: true}},
		{"two rows each", func(i int) int64 { return int64(i / 2) }, joinShape{parts: true}},
		{"one of most", func(i int) int64 { return int64(i * max(2-i%5, 0)) }, joinShape{parts: true, rest: true}},
		{"null", func(i int) int64 { return int64(i%7*i - 1) }, joinShape{parts: true}},
	} {
		key := func(typ arrow.DataType, of func(key int64) kernels.Scalar) *memory.Column {
			return l.column(t, typ, n, func(i int) kernels.Scalar {
				if k := x.key(i); k >= 0 {
					return of(k)
				}
				return kernels.Null(typ)
			})
		}
		a := key(arrow.PrimitiveTypes.Int64, func(k int64) kernels.Scalar { return kernels.Int64(k * 0x9E3779B97F4A7C1) })
		b := key(arrow.PrimitiveTypes.Int64, func(k int64) kernels.Scalar { return kernels.Int64(k % 3) })
		texts := key(arrow.BinaryTypes.String, func(k int64) kernels.Scalar { return kernels.String(fmt.Sprint("the key ", k)) })
		for kind, keys := range map[string][]*memory.Column{"word": {a}, "words": {a, b}, "text": {texts}} {
			l.alike(t, fmt.Sprint(x.note, kind), func(at side) ([]*memory.Column, error) { return joinedBy(t, at, keys, x.want) })
		}
	}
}

// joinedBy is the left and the right rows of a join of keys with themselves, by
// a table of a certain shape where the device makes it.
func joinedBy(t *testing.T, at side, keys []*memory.Column, want joinShape) ([]*memory.Column, error) {
	ctx, o := context.Background(), kernels.JoinOptions{NullsEqual: true}
	var on []*memory.Column
	for _, k := range keys {
		on = append(on, at.on(k))
	}
	built, err := at.JoinBuild(ctx, at.s, on, o)
	if err != nil {
		return nil, err
	}
	defer built.Release()
	if table, is := built.(*joinTable); is {
		if shape := shapeOf(table); shape != want {
			t.Errorf("the table is %+v, not %+v", shape, want)
		}
	}
	p, err := built.Probe(ctx, at.s, on, kernels.InnerJoin, o)
	if err != nil {
		return nil, err
	}
	return []*memory.Column{p.Left, p.Right}, nil
}

// sort is texts that differ late, row numbers of both widths, and the first few
// of more rows than are sorted.
func (l *least) sort(t *testing.T) {
	ctx := context.Background()
	i16, i64 := arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int64
	testWideRows(t, l.c, leastRows, 0, 1, true)
	equal, rows := make([]uint64, leastRows), make([]uint64, leastRows)
	for i := range rows {
		rows[i] = uint64(i)
	}
	for _, keyBits := range []int{32, 33} { // one key in all rows takes no pass
		checkSortPairs(t, l.c, equal, keyBits, rows, 8, false)
	}
	texts := make([]string, leastRows) // two runs that the first step leaves
	for i := range texts {
		texts[i] = []string{"start one", "start two"}[i%2] + string(rune('a'+i*5%7))
	}
	want := slices.Clone(rows)
	slices.SortStableFunc(want, func(a, b uint64) int { return strings.Compare(texts[a], texts[b]) })
	for _, width := range []int{4, 8} {
		col := fromTexts(l.c, texts)
		sorted := l.c.sortList([]kernels.SortKey{{Values: col}}, sortList{n: leastRows, width: width})
		if got := bytesWords(l.c.read(sorted, 0, leastRows*int64(width)), width); !slices.Equal(got, want) {
			t.Errorf("texts by rows of %d bytes: %v, want %v", width, got, want)
		}
		col.Release()
	}
	for _, typ := range []arrow.DataType{i16, i64} {
		x := l.column(t, typ, topkSpare+leastRows, func(i int) kernels.Scalar {
			v := int64(i * 7919 % 2003)
			if typ == i64 {
				v <<= 40
			}
			return kernels.Int(typ, v)
		})
		l.same(t, fmt.Sprint("top of ", typ), func(at side) (*memory.Column, error) {
			return at.TopK(ctx, at.s, []kernels.SortKey{{Values: at.on(x)}}, 3)
		})
	}
}

// matrix is products of a few columns: of few rows, and of many.
func (l *least) matrix(t *testing.T) {
	ctx := context.Background()
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		for _, shape := range [][3]int64{{3, 2, 5}, {2, 3, thinDepth + 1}} {
			m, n, k := shape[0], shape[1], shape[2]
			number := func(i int) kernels.Scalar { return kernels.Float(typ, float64(i%7-3)) } // sums are exact in any order
			a, b := l.column(t, typ, int(m*k), number), l.column(t, typ, int(k*n), number)
			c := l.column(t, typ, int(m*n), func(int) kernels.Scalar { return kernels.Float(typ, 0) })
			matrix := func(at *memory.Column, rows, cols int64) kernels.Matrix {
				return kernels.Matrix{Type: typ, Data: at.Buffer(1), Rows: rows, Cols: cols, Stride: cols}
			}
			l.same(t, fmt.Sprint(typ, shape), func(at side) (*memory.Column, error) {
				out := at.on(c)
				return out.Retain(), at.GEMM(ctx, at.s, false, false, 1, matrix(at.on(a), m, k), matrix(at.on(b), k, n), 0, matrix(out, m, n))
			})
			for _, trans := range []bool{false, true} { // by as many numbers of b as it takes
				x, y, rows, depth := b, c, m, k
				if trans {
					rows, depth = k, m
					y = l.column(t, typ, int(k), func(int) kernels.Scalar { return kernels.Float(typ, 0) })
				}
				l.same(t, fmt.Sprint("one column ", typ, shape, trans), func(at side) (*memory.Column, error) {
					out := at.on(y)
					return out.Retain(), at.GEMV(ctx, at.s, trans, 1, matrix(at.on(a), m, k), matrix(at.on(x), depth, 1), 0, matrix(out, rows, 1))
				})
			}
		}
	}
}
