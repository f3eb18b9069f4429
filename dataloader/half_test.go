package dataloader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/float16"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestHalves rounds to both types of 16 bits, with a tile and without.
func TestHalves(t *testing.T) {
	b, a := onHost(t)
	values := []float64{0, 1, -2.5, 65504, 1e-07, 1.0009765625, 1.00048828125, 3.3895e+38, math.Inf(-1), math.NaN(), 1.01171875, 1.00390625, 1.0008, 2e-05}
	bitsOf := map[arrow.DataType][]uint16{
		arrow.FixedWidthTypes.Float16: {0x0, 0x3c00, 0xc100, 0x7bff, 0x2, 0x3c01, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x3c0c, 0x3c04, 0x3c01, 0x150},
		BFloat16:                      {0x0, 0x3f80, 0xc020, 0x4780, 0x33d7, 0x3f80, 0x3f80, 0x7f7f, 0xff80, 0x7fc0, 0x3f82, 0x3f80, 0x3f80, 0x37a8},
	}
	valid := make([]bool, len(values))
	var columns []table.Series
	for i := range valid {
		valid[i] = i != 1
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		columns = append(columns, table.Column(name, values).Valid(valid))
	}
	all := made(t, b, columns...)
	for _, typ := range []arrow.DataType{arrow.FixedWidthTypes.Float16, BFloat16} {
		for name, s := range map[string]Source{"table": FromTable(all), "taken": TakeTable(all.Retain())} {
			for _, layout := range []Layout{RowMajor, ColumnMajor, Columns} {
				if name == "taken" && layout != RowMajor {
					s = TakeTable(all.Retain())
				}
				l := load(t, s, Options{Batch: 100, Type: typ, Layout: layout, Masks: true, Memory: a, Spare: int64(layout-1) * 1000})
				batch, err := l.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				x, err := batch.Features()
				if layout == Columns {
					x, err = batch.Column("c")
				}
				if err != nil {
					t.Fatal(err)
				}
				bits := elements[uint16](t, x)
				for i, v := range values {
					want, k := bitsOf[typ][i], int64(i)*x.RowStride+(x.Columns-1)*x.ColumnStride
					if i == 1 {
						want = 0
					}
					if bits[k] != want {
						t.Errorf("%s %v %v: %v is %#x, not %#x", name, typ, layout, v, bits[k], want)
					}
				}
				if err := batch.Release(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestHalvesAsSource reads columns of float16, in chunks and with nulls, as floats of every
// type: as they are, widened, and by way of float32. They are
// the same in files and on devices as in a table. Expressions do not have them.
func TestHalvesAsSource(t *testing.T) {
	b, a := onHost(t)
	far := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: 9}, cpu.Generic())
	defer func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	}()
	const rows = 3000
	all := halfTable(t, b, rows, 5)
	path := filepath.Join(t.TempDir(), "halves")
	if err := errors.Join(storage.WriteParquet(ctx, all, path+".parquet", storage.ParquetOptions{RowGroupRows: 700}),
		storage.WriteIPC(ctx, all, path+".arrow", storage.IPCOptions{}), storage.WriteIPC(ctx, all, path+"z.arrow", storage.IPCOptions{Compression: storage.CompressionLZ4})); err != nil {
		t.Fatal(err)
	}
	there, err := all.To(ctx, far)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	sources := map[string]func() Source{
		"table": func() Source { return FromTable(all) }, "taken": func() Source { return TakeTable(all.Retain()) }, "device": func() Source { return FromTable(there) },
		"parquet": func() Source { return opened(t, b, storage.Parquet(path+".parquet"), FileOptions{}) },
		"mapped":  func() Source { return opened(t, b, storage.IPC(path+".arrow"), FileOptions{}) },
		"packed":  func() Source { return opened(t, b, storage.IPC(path+"z.arrow"), FileOptions{}) },
		"mapped by a function": func() Source {
			return mapOver(t, b, FromTable(all), BatchMap{Name: "same", Do: func(_ context.Context, batch *table.Table) (*table.Table, error) { return batch, nil }})
		},
	}
	for name, s := range sources {
		for i, typ := range []arrow.DataType{arrow.FixedWidthTypes.Float16, BFloat16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64, nil} {
			for _, spare := range []int64{-1, 0} {
				o := Options{Batch: 700, Shuffle: true, Type: typ, Masks: true, Epochs: 1, Spare: spare, Memory: a, Layout: RowMajor}
				if typ == nil {
					o.Layout = Columns
				}
				l := load(t, s(), o)
				for batch, err := range l.Batches(ctx) {
					if err != nil {
						t.Fatalf("%s %v: %v", name, typ, err)
					}
					checkHalves(t, fmt.Sprint(name, " ", i), batch, typ)
				}
			}
		}
	}
	if _, err := New(ctx, FromTable(all), Options{Batch: 1, Type: arrow.PrimitiveTypes.Int32, Masks: true, Memory: a}); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("as whole numbers: %v", err)
	}
	if _, err := Derive(b, FromTable(all), Column{"x", expr.Col("a")}); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("in an expression: %v", err)
	}
}

// halfBits is what stands in row i of column c of halfTable: numbers of all sizes, and no NaN.
func halfBits(i, c int64) uint16 {
	h := uint16((i*5 + c) * 7919)
	if h&0x7c00 == 0x7c00 {
		h &= 0x83ff // a subnormal
	}
	return h
}

// halfTable is columns of float16 in two chunks, of which every seventh value is null.
func halfTable(t *testing.T, b *kernels.Backend, rows int64, columns int) *table.Table {
	t.Helper()
	var fields []arrow.Field
	for c := range columns {
		fields = append(fields, arrow.Field{Name: string(rune('a' + c)), Type: arrow.FixedWidthTypes.Float16, Nullable: true})
	}
	schema, cut := arrow.NewSchema(fields, nil), rows/3
	var chunks []*table.Batch
	for _, span := range [][2]int64{{0, cut}, {cut, rows}} {
		n := span[1] - span[0]
		var all []*memory.Column
		for c := range int64(columns) {
			data, err := memory.New(memory.Heap, 2*n)
			if err != nil {
				t.Fatal(err)
			}
			valid, err := memory.NewZeroed(memory.Heap, memory.BitmapBytes(n))
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				view[uint16](data.Bytes())[i] = halfBits(span[0]+i, c)
				if (span[0]+i)%7 != 0 {
					memory.Bitmap(valid.Bytes()).Set(i)
				}
			}
			one, err := memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Float16, Len: n, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{valid, data}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
		chunk, err := table.NewBatch(schema, n, all)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, chunk)
	}
	whole, err := table.NewTable(b, schema, chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(whole.Release)
	return whole
}

// checkHalves holds a batch of halfTable to its rows' numbers.
func checkHalves(t *testing.T, name string, batch Batch, typ arrow.DataType) {
	t.Helper()
	rows, err := batch.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for c := range int64(5) {
		x, err := batch.Features()
		at := c
		if typ == nil {
			x, err = batch.Column(string(rune('a' + c)))
			at = 0
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			bits, k := halfBits(row, c), int64(i)*x.RowStride+at*x.ColumnStride
			if null := row%7 == 0; null != (x.Valid[k] == 0) {
				t.Fatalf("%s: row %d is null: %t", name, row, null)
			} else if null {
				bits = 0
			}
			exact := float16.Widen(bits)
			var got, want float64
			switch {
			case typ == BFloat16:
				got, want = float64(elements[uint16](t, x)[k]), float64(float16.RoundBrain(exact))
			case typ == nil || typ.ID() == arrow.FLOAT16:
				got, want = float64(elements[uint16](t, x)[k]), float64(bits)
			case typ.ID() == arrow.FLOAT32:
				got, want = float64(elements[float32](t, x)[k]), float64(exact)
			default:
				got, want = elements[float64](t, x)[k], float64(exact)
			}
			if got != want {
				t.Fatalf("%s: row %d, column %d is %v, not %v", name, row, c, got, want)
			}
		}
	}
}
