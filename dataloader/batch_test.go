package dataloader

import (
	"errors"
	"io"
	"math"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TestMatrices holds every layout, type, tile and chunking against the values
// themselves, shuffled and not.
func TestMatrices(t *testing.T) {
	b, a := onHost(t)
	const rows, columns = 1500, 21
	for _, cuts := range [][]int64{nil, {1, 2, 3, 900}, {700}} {
		src := FromTable(numbers(t, b, rows, columns, cuts...))
		for _, spare := range []int64{-1, rows * 17 * 8, 1 << 20} {
			for _, layout := range []Layout{RowMajor, ColumnMajor} {
				for _, shuffle := range []bool{false, true} {
					o := Options{Batch: 400, Labels: []string{"ab"}, Layout: layout, Shuffle: shuffle, Epochs: 1, Spare: spare, Memory: a}
					checkMatrix[float32](t, src, o, arrow.PrimitiveTypes.Float32)
					checkMatrix[float64](t, src, o, arrow.PrimitiveTypes.Float64)
				}
			}
		}
	}
}

func checkMatrix[T Element](t *testing.T, src Source, o Options, typ arrow.DataType) {
	t.Helper()
	o.Type = typ
	l := load(t, src, o)
	if taken := l.Stats().Spare; taken > max(0, o.Spare) || (taken > 0) != (o.Spare > 0 && o.Shuffle) {
		t.Errorf("%d spare bytes, %d taken", o.Spare, taken)
	}
	seen := make([]bool, src.NumRows())
	for b, err := range l.Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		x, err1 := b.Features()
		y, err2 := b.Labels()
		rows, err3 := b.Rows()
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		v, labels := elements[T](t, x), elements[float32](t, y)
		if int64(len(v)) != x.Rows*x.Columns || x.Columns != 20 || x.Rows != int64(len(rows)) || y.Columns != 1 || x.Valid != nil {
			t.Fatalf("%d elements, %d by %d, %d labels", len(v), x.Rows, x.Columns, y.Rows)
		}
		for i, r := range rows {
			seen[r] = true
			if want := float32(value(r, 1)); labels[i] != want {
				t.Fatalf("label of row %d is %v, not %v", r, labels[i], want)
			}
			for c := range x.Columns {
				k := c
				if c > 0 { // the label is column 1
					k++
				}
				if got := v[int64(i)*x.RowStride+c*x.ColumnStride]; got != T(value(r, k)) {
					t.Fatalf("row %d column %d is %v, not %v (layout %d, spare %d)", r, c, got, value(r, k), o.Layout, o.Spare)
				}
			}
		}
	}
	for r, was := range seen {
		if !was {
			t.Fatalf("row %d did not come", r)
		}
	}
}

// TestTypes reads columns of every type as every type of tensor, in their own
// too, with nulls as masks, in windows of larger columns.
func TestTypes(t *testing.T) {
	b, a := onHost(t)
	ok := []bool{true, true, false, true, true, true, false, true, true, true, true, true}
	whole := made(t, b,
		table.Column("i8", []int8{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}), table.Column("i16", []int16{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}),
		table.Column("i32", []int32{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}), table.Column("i64", []int64{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}),
		table.Column("u8", []uint8{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}), table.Column("u16", []uint16{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}),
		table.Column("u32", []uint32{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}), table.Column("u64", []uint64{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}),
		table.Column("date", []int32{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}).Of(arrow.FixedWidthTypes.Date32),
		table.Column("time", []int64{9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9}).Of(arrow.FixedWidthTypes.Timestamp_us),
		table.Column("null", []int64{9, 1, math.MaxInt64, 3, 4, 5, 1 << 40, 7, 8, 9, 10, 9}).Valid(ok),
		table.Column("bit", []bool{true, true, false, true, false, true, false, true, false, true, false, true}),
		table.Column("nobit", []bool{true, true, true, true, false, true, true, true, false, true, false, true}).Valid(ok))
	window, err := whole.Query().Slice(1, 10).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer window.Release()
	for _, spare := range []int64{-1, 0} {
		for _, layout := range []Layout{RowMajor, ColumnMajor} {
			o := Options{Batch: 4, Shuffle: true, Masks: true, Layout: layout, Spare: spare, Epochs: 1, Memory: a}
			checkTypes[float32](t, window, o)
			checkTypes[float64](t, window, o)
			checkTypes[int32](t, window, o)
			checkTypes[int64](t, window, o)
		}
	}
	l := load(t, FromTable(window), Options{Batch: 10, Masks: true, Layout: Columns, Memory: a})
	batch, err := l.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u, err := batch.Column("u16")
	if err != nil {
		t.Fatal(err)
	}
	bit, err := batch.Column("nobit")
	if err != nil {
		t.Fatal(err)
	}
	if v := elements[uint16](t, u); len(v) != 10 || v[3] != 4 {
		t.Errorf("u16 is %v", v)
	}
	if v := elements[uint8](t, bit); v[0] != 1 || v[1] != 0 || bit.Valid[1] != 0 || bit.Valid[0] != 1 || v[3] != 0 || bit.Valid[3] != 1 {
		t.Errorf("nobit is %v, %v", v, bit.Valid)
	}
	if _, err := Elements[int16](u); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("uint16 as int16: %v", err)
	}
	for _, f := range []func() (Tensor, error){batch.Features, batch.Labels, func() (Tensor, error) { return batch.Column("none") }} {
		if _, err := f(); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("what is not there: %v", err)
		}
	}
	if err := batch.Release(); err != nil {
		t.Error(err)
	}
}

func checkTypes[T Element](t *testing.T, of *table.Table, o Options) {
	t.Helper()
	o.Type = typeOf[T]()
	l := load(t, FromTable(of), o)
	n := 0
	for b, err := range l.Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		x, err := b.Features()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := b.Rows()
		if err != nil {
			t.Fatal(err)
		}
		v := elements[T](t, x)
		for i, r := range rows {
			n++
			for c := range x.Columns {
				want, valid := T(r+1), byte(1) // the window begins with 1
				if c >= 11 {
					want = T((r + 1) % 2)
				}
				if (c == 10 || c == 12) && (r == 1 || r == 5) {
					want, valid = 0, 0
				}
				if k := int64(i)*x.RowStride + c*x.ColumnStride; v[k] != want || x.Valid[k] != valid {
					t.Fatalf("row %d column %d of %v is %v (%d), not %v (%d)", r, c, x.Type, v[k], x.Valid[k], want, valid)
				}
			}
		}
	}
	if n != 10 {
		t.Errorf("%d rows", n)
	}
}

// TestLoan holds batches to one release, to their memory, and to the ring.
func TestLoan(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 100, 4))
	for _, workers := range []int{InCaller, 2} {
		l := load(t, src, Options{Batch: 10, Workers: workers, Prefetch: 3, Memory: a})
		var held []Batch
		for range 3 {
			batch, err := l.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, batch)
		}
		if _, err := l.Next(ctx); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("every batch is held: %v", err)
		}
		if err := held[1].Release(); err != nil {
			t.Error(err)
		}
		if err := held[1].Release(); !errors.Is(err, device.ErrClosed) {
			t.Errorf("a second release: %v", err)
		}
		_, err1 := held[1].Rows()
		_, err2 := held[1].Features()
		_, err3 := held[1].Info()
		_, err4 := held[1].Labels()
		_, err5 := held[1].Column("aa")
		_, err6 := Batch{}.Rows()
		for i, err := range []error{err1, err2, err3, err4, err5, err6, Batch{}.Release()} {
			if !errors.Is(err, device.ErrClosed) {
				t.Errorf("use %d after the release: %v", i, err)
			}
		}
		fourth, err := l.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := fourth.Rows(); err != nil || rows[0] != 30 {
			t.Errorf("%v, %v", rows, err)
		}
		if err := held[1].Release(); !errors.Is(err, device.ErrClosed) { // its memory is lent again
			t.Errorf("a release of an old loan: %v", err)
		}
		if rows, err := held[0].Rows(); err != nil || rows[0] != 0 || rows[9] != 9 {
			t.Errorf("a held batch was written over: %v, %v", rows, err)
		}
		// What is lent outlives the loader.
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		x, err := held[2].Features()
		if err != nil || elements[float32](t, x)[0] != float32(value(20, 0)) {
			t.Errorf("a batch after Close: %v", err)
		}
		for _, i := range []Batch{held[0], held[2], fourth} {
			if err := i.Release(); err != nil {
				t.Error(err)
			}
		}
		if _, err := l.Next(ctx); !errors.Is(err, device.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if _, err := l.State(ctx); !errors.Is(err, device.ErrClosed) {
			t.Errorf("the state after Close: %v", err)
		}
	}
}

// TestNoAllocation counts what a batch of the steady state allocates.
func TestNoAllocation(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 4000, 8, 1000))
	for _, workers := range []int{InCaller, 2} {
		o := Options{Batch: 100, Shuffle: true, Workers: workers, Memory: a, Masks: true, Transform: nothing}
		l := load(t, src, o)
		all := func() {
			for range 41 {
				batch, err := l.Next(ctx)
				if err == io.EOF {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := batch.Release(); err != nil {
					t.Fatal(err)
				}
			}
		}
		all()
		if n := testing.AllocsPerRun(20, all); n >= 4 {
			t.Errorf("%d workers: %.1f allocations for 40 batches", workers, n)
		}
	}
}

// TestRuns reads rows in their order from columns of like and of mixed types, more
// and fewer than are turned together, by chunks that begin anywhere.
func TestRuns(t *testing.T) {
	b, a := onHost(t)
	const rows = 1000
	for _, cuts := range [][]int64{nil, {1, 63, 64, 700, 701}} {
		for _, columns := range []int{3, 8, 17} {
			checkRuns(t, numbers(t, b, rows, columns, cuts...), Options{Batch: 257, Epochs: 1, Memory: a})
		}
	}
	var mixed []table.Series
	for c := range int64(12) {
		x, y := make([]float32, rows), make([]int32, rows)
		for i := range x {
			x[i], y[i] = float32(value(int64(i), c)), int32(value(int64(i), c))
		}
		name := string(rune('a' + c))
		if c%5 == 3 {
			mixed = append(mixed, table.Column(name, y))
		} else {
			mixed = append(mixed, table.Column(name, x))
		}
	}
	checkRuns(t, made(t, b, mixed...), Options{Batch: 300, Epochs: 1, Memory: a})
}

func checkRuns(t *testing.T, all *table.Table, o Options) {
	t.Helper()
	row := int64(0)
	for b, err := range load(t, FromTable(all), o).Batches(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		x, err := b.Features()
		if err != nil {
			t.Fatal(err)
		}
		v := elements[float32](t, x)
		for i := range x.Rows {
			for c := range x.Columns {
				if got, want := v[i*x.RowStride+c], float32(value(row, c)); got != want {
					t.Fatalf("row %d column %d of %d is %v, not %v", row, c, x.Columns, got, want)
				}
			}
			row++
		}
	}
	if row != all.NumRows() {
		t.Errorf("%d rows of %d", row, all.NumRows())
	}
}

// TestNumbersAreAligned holds rows' numbers and offsets to lie as tensors must:
// frameworks that are given them trust that.
func TestNumbersAreAligned(t *testing.T) {
	for n := range int64(200) {
		all := alignedNumbers(n + 1)
		if at := uintptr(unsafe.Pointer(&all[0])); at%memory.Alignment != 0 || int64(len(all)) != n+1 || cap(all) != len(all) {
			t.Fatalf("%d numbers at %#x, %d of %d", n+1, at, len(all), cap(all))
		}
	}
}
