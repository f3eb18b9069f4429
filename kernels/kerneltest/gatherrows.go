package kerneltest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// gatherRows holds the kernel GatherRows of a backend against the reference, bit for
// bit: columns of all types, with nulls and offsets, of one to many launches, into
// matrices of all types, of rows and of columns, with masks and without, in the middle
// of memory that is to stay as it is; and what it refuses.
func gatherRows(t *testing.T, b *kernels.Backend) {
	near := referenceBackend(t)
	r := rand.New(rand.NewPCG(defaultSeed, 8))
	for i, typ := range kernels.NumberTypes.IDs() {
		for _, k := range []int{1, 7, 8, 9, 17} {
			for _, n := range []int64{0, 1, 33, 300} {
				columns := rowColumns(t, r, typ, k+i, k)
				order := make([]int64, n)
				for i := range order {
					order[i] = r.Int64N(columns[0].Len())
				}
				for _, masks := range []bool{false, true} {
					for _, turned := range []bool{false, true} {
						got := gatherOn(t, b, columns, order, typ, masks, turned)
						want := gatherOn(t, near, columns, order, typ, masks, turned)
						for _, c := range columns {
							pairsOf(b.Set).add("GatherRows", Call{Case: Case{Type: c.Type()}})
						}
						if !bytes.Equal(got, want) {
							t.Errorf("%d rows of %d columns to %s, masks %t, by columns %t: not the reference's", n, k, typ, masks, turned)
						}
					}
				}
				releaseColumns(columns)
			}
		}
	}
	refused(t, b)
}

// rowTypes are types of columns in the order in which they are drawn.
var rowTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32, arrow.FixedWidthTypes.Timestamp_us,
	arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8, arrow.FixedWidthTypes.Date32, arrow.PrimitiveTypes.Int16,
	arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Duration_us,
	arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
}

// rowColumns are k columns on the host, windows of longer ones, of types that can be
// cast to typ, from one of the list on. Their bits are any at all.
func rowColumns(t *testing.T, r *rand.Rand, typ arrow.Type, from, k int) (columns []*memory.Column) {
	types := rowTypes
	if !kernels.FloatTypes.Has(typ) {
		types = types[:len(types)-2]
	}
	const rows, offset = 257, 5
	for j := range k {
		of := types[(from+j)%len(types)]
		width := max(1, memory.Width(of))
		values, valid := make([]byte, (rows+offset)*width), make([]byte, (rows+offset)/8+1)
		for i := range values {
			values[i] = byte(r.Uint32())
		}
		for i := range valid {
			valid[i] = byte(r.Uint32())
		}
		buffers := []*memory.Buffer{memory.Wrap(valid, nil), memory.Wrap(values, nil)}
		if j%2 == 0 {
			buffers[0] = nil
		}
		c, err := memory.NewColumn(memory.Parts{Type: of, Len: rows, Offset: offset, Nulls: memory.UnknownNulls, Buffers: buffers})
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	return columns
}

func releaseColumns(columns []*memory.Column) {
	for _, c := range columns {
		c.Release()
	}
}

// gatherOn is the memory around what a backend gathers, as bytes.
func gatherOn(t *testing.T, b *kernels.Backend, columns []*memory.Column, order []int64, typ arrow.Type, masks, turned bool) []byte {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := device.NewMover(s, b.Device.Memory())
	defer m.Release()
	there := make([]*memory.Column, len(columns))
	for i, c := range columns {
		if there[i], err = m.Column(c); err != nil {
			t.Fatal(err)
		}
	}
	defer releaseColumns(there)
	number := arrow.DataType(arrow.PrimitiveTypes.Float64)
	for _, one := range rowTypes {
		if one.ID() == typ {
			number = one
		}
	}
	into, size := rowsInto(number, int64(len(order)), int64(len(columns)), masks, turned)
	out, err := memory.New(b.Device.Memory(), size)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	into.Values.Data = out
	if masks {
		into.Mask.Data = out
	}
	host, err := memory.New(memory.Heap, size)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	rows, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: int64(len(order)), Buffers: []*memory.Buffer{nil, memory.Wrap(bytesOf(order), nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	moved, err := m.Column(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer moved.Release()
	if err := errors.Join(s.Fill(out, 0, size, 0xa5), b.GatherRows(context.Background(), s, there, moved, into), s.Copy(host, 0, out, 0, size), s.Wait(context.Background())); err != nil {
		t.Fatalf("%d columns to %s: %v", len(columns), number, err)
	}
	return bytes.Clone(host.Bytes())
}

// rowsInto is a matrix, and its mask behind it, with room around them, and how many
// bytes there are in all.
func rowsInto(number arrow.DataType, n, k int64, masks, turned bool) (to kernels.RowsInto, size int64) {
	rows, columns, width := n, k, int64(memory.Width(number))
	if turned {
		rows, columns = k, n
	}
	to = kernels.RowsInto{Values: kernels.Matrix{Type: number, Offset: 3, Rows: rows, Cols: columns, Stride: columns + 2}, ColumnMajor: turned}
	size = memory.Padded((3 + rows*(columns+2) + 1) * width)
	if masks {
		to.Mask = kernels.Matrix{Type: arrow.PrimitiveTypes.Uint8, Offset: size, Rows: rows, Cols: columns, Stride: columns + 1}
		size += memory.Padded(rows*(columns+1) + 1)
	}
	return to, size
}

func bytesOf(numbers []int64) []byte {
	out := make([]byte, 0, 8*len(numbers))
	for _, v := range numbers {
		for k := range 8 {
			out = append(out, byte(v>>(8*k)))
		}
	}
	return out
}

// refused are arguments that are none.
func refused(t *testing.T, b *kernels.Backend) {
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	column := func(typ arrow.DataType, n int64) *memory.Column {
		buffer, err := memory.New(b.Device.Memory(), 8*n)
		if err != nil {
			t.Fatal(err)
		}
		c, err := memory.NewColumn(memory.Parts{Type: typ, Len: n, Buffers: []*memory.Buffer{nil, buffer}, Place: b.Device.Place()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Release)
		return c
	}
	whole, float, rows, long := column(arrow.PrimitiveTypes.Int32, 4), column(arrow.PrimitiveTypes.Float64, 4), column(arrow.PrimitiveTypes.Int64, 3), column(arrow.PrimitiveTypes.Int32, 5)
	to := func(typ arrow.DataType, rows, columns int64) kernels.RowsInto {
		m, size := rowsInto(typ, rows, columns, true, false)
		out, err := memory.New(b.Device.Memory(), size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(out.Release)
		m.Values.Data, m.Mask.Data = out, out
		return m
	}
	wrongMask := to(arrow.PrimitiveTypes.Int32, 3, 1)
	wrongMask.Mask.Rows = 2
	for name, c := range map[string]struct {
		columns []*memory.Column
		rows    *memory.Column
		to      kernels.RowsInto
		kind    error
	}{
		"floats as integers":       {[]*memory.Column{float}, rows, to(arrow.PrimitiveTypes.Int32, 3, 1), device.ErrUnsupported},
		"row numbers of int32":     {[]*memory.Column{whole}, whole, to(arrow.PrimitiveTypes.Int32, 4, 1), device.ErrUnsupported},
		"columns of two lengths":   {[]*memory.Column{whole, long}, rows, to(arrow.PrimitiveTypes.Int32, 3, 2), device.ErrMismatch},
		"a matrix of another size": {[]*memory.Column{whole}, rows, to(arrow.PrimitiveTypes.Int32, 3, 2), device.ErrMismatch},
		"a mask of another size":   {[]*memory.Column{whole}, rows, wrongMask, device.ErrMismatch},
	} {
		if err := b.GatherRows(context.Background(), s, c.columns, c.rows, c.to); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
