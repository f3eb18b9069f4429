package dataloader

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

var colours = []string{"red", "green", "blue"}

// lists is a table of rows whose number tells what stands in each column: a
// colour, a whole number of three, a list of row mod 5 items, a blob.
func encodable(t *testing.T, b *kernels.Backend, rows int) *table.Table {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "x", Type: arrow.PrimitiveTypes.Int64}, {Name: "colour", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "three", Type: arrow.PrimitiveTypes.Int16}, {Name: "list", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
		{Name: "blob", Type: arrow.BinaryTypes.Binary, Nullable: true},
	}, nil)
	r := array.NewRecordBuilder(arrowmem.NewGoAllocator(), schema)
	defer r.Release()
	for i := range rows {
		r.Field(0).(*array.Int64Builder).Append(int64(i))
		r.Field(2).(*array.Int16Builder).Append(int16(i%3) - 1)
		list := r.Field(3).(*array.ListBuilder)
		if i%7 == 6 {
			r.Field(1).AppendNull()
			list.AppendNull()
			r.Field(4).AppendNull()
			continue
		}
		r.Field(1).(*array.StringBuilder).Append(colours[i%3])
		list.Append(true)
		for k := range i % 5 {
			list.ValueBuilder().(*array.Int32Builder).Append(int32(10*i + k))
		}
		r.Field(4).(*array.BinaryBuilder).Append([]byte{byte(i), byte(i + 1)})
	}
	record := r.NewRecordBatch()
	defer record.Release()
	all, err := table.FromRecord(b, record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.Release)
	return all
}

// double decodes a blob into two float32.
func double(value, to []byte) error {
	v := view[float32](to)
	if len(value) != len(v) {
		return fmt.Errorf("%d bytes", len(value))
	}
	for i, x := range value {
		v[i] = float32(x)
	}
	return nil
}

// TestEncodings looks at each encoding, over memory and over files, in every
// layout that there is.
func TestEncodings(t *testing.T) {
	b, a := onHost(t)
	all := encodable(t, b, 200)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 30}); err != nil {
		t.Fatal(err)
	}
	files := opened(t, b, storage.Parquet(path), FileOptions{Cache: 5000})
	for name, s := range map[string]Source{"table": FromTable(all), "files": files} {
		for _, layout := range []Layout{RowMajor, ColumnMajor} {
			for _, list := range []*Encoding{Padded(6, -1), Ragged(6)} {
				l := load(t, s, Options{Batch: 33, Shuffle: true, Seed: 3, Layout: layout, Masks: true, Memory: a, Epochs: 2, Labels: []string{"three"},
					Encode: map[string]*Encoding{"colour": OneHot(colours...), "three": Categories("1", "0", "-1"), "list": list, "blob": Decode(arrow.PrimitiveTypes.Float32, 2, double)}})
				seen := 0
				for batch, err := range l.Batches(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					seen += checkEncoded(t, fmt.Sprint(name, layout), batch, list)
				}
				if seen != 200 {
					t.Errorf("%s: %d rows", name, seen)
				}
				if _, err := l.State(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func checkEncoded(t *testing.T, name string, batch Batch, list *Encoding) int {
	t.Helper()
	rows, err1 := batch.Rows()
	x, err2 := batch.Features()
	y, err3 := batch.Labels()
	items, err4 := batch.Column("list")
	blobs, err5 := batch.Column("blob")
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	v, labels, blob, item := elements[float32](t, x), elements[float32](t, y), elements[float32](t, blobs), elements[float32](t, items)
	if x.Columns != 4 || blobs.Columns != 2 {
		t.Fatalf("%s: %v and %v", name, x.Shape(), blobs.Shape())
	}
	for i, row := range rows {
		null := row%7 == 6
		for c := range int64(4) {
			want, valid := float32(0), byte(1)
			switch {
			case c == 0:
				want = float32(row)
			case null:
				valid = 0
			case c-1 == row%3:
				want = 1
			}
			if k := int64(i)*x.RowStride + c*x.ColumnStride; v[k] != want || x.Valid[k] != valid {
				t.Fatalf("%s: row %d column %d is %v (%d), not %v (%d)", name, row, c, v[k], x.Valid[k], want, valid)
			}
		}
		if want := float32(2 - row%3); labels[i] != want {
			t.Errorf("%s: the label of row %d is %v, not %v", name, row, labels[i], want)
		}
		n := items.Offsets[i+1] - items.Offsets[i]
		at := items.Offsets[i]
		if !list.isRagged() {
			at = int64(i) * items.RowStride
			for k := n; k < 6; k++ {
				if item[at+k] != -1 || items.Valid[at+k] != 0 {
					t.Fatalf("%s: the padding of row %d is %v", name, row, item[at+k])
				}
			}
		}
		if want := row % 5; n != want && !null || null && n != 0 {
			t.Fatalf("%s: row %d has %d items", name, row, n)
		}
		for k := range n {
			if item[at+k] != float32(10*row+k) || items.Valid[at+k] != 1 {
				t.Fatalf("%s: item %d of row %d is %v", name, k, row, item[at+k])
			}
		}
		if want := []float32{float32(row), float32(row + 1)}; !null && !slices.Equal(blob[2*i:2*i+2], want) || null && (blob[2*i] != 0 || blobs.Valid[2*i] != 0) {
			t.Errorf("%s: the blob of row %d is %v", name, row, blob[2*i:2*i+2])
		}
	}
	if want := items.Offsets[len(rows)]; list.isRagged() && (int64(len(item)) != want || !slices.Equal(items.Shape(), []int64{want})) {
		t.Errorf("%s: %d items, %v", name, len(item), items.Shape())
	}
	return len(rows)
}

// TestEncodingsFail names rows that cannot be encoded, or leaves them out.
func TestEncodingsFail(t *testing.T) {
	b, a := onHost(t)
	all := encodable(t, b, 200)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 30}); err != nil {
		t.Fatal(err)
	}
	files := opened(t, b, storage.Parquet(path), FileOptions{})
	broken := errors.New("broken")
	for want, e := range map[string]map[string]*Encoding{
		`row 2 of column "colour": dataloader: invalid value: the value "blue"`:      {"colour": OneHot("red", "green")},
		`row 2 of column "three": dataloader: invalid value: the value "1" is in no`: {"three": Categories("-1", "0")},
		`row 4 of column "list": dataloader: invalid value: a list of 4 items`:       {"list": Ragged(3)},
		`row 3 of column "blob": decoding: broken`: {"blob": Decode(arrow.PrimitiveTypes.Uint8, 1, func(v, _ []byte) error {
			if v[0]%4 == 3 {
				return broken
			}
			return nil
		})},
	} {
		name := only(e)
		for kind, s := range map[string]Source{"table": FromTable(all), "files": files} {
			o := Options{Batch: 100, Features: []string{name}, Encode: e, Masks: true, Workers: 1, Memory: a, Epochs: 1}
			l := load(t, s, o)
			_, err := l.Next(ctx)
			if err == nil || !strings.Contains(err.Error(), want) || kind == "files" && !strings.Contains(err.Error(), "row group 0") {
				t.Errorf("%s: %v", want, err)
			}
			o.SkipBad = true
			l = load(t, s, o)
			n := int64(0)
			for rows, _ := next(t, l); rows != nil; rows, _ = next(t, l) {
				n += int64(len(rows))
			}
			if s := l.Stats(); n == 200 || n < 100 || s.Skipped+n != 200 {
				t.Errorf("%s: %d rows and %d skipped", want, n, s.Skipped)
			}
			o.Epochs = 2
			l = load(t, s, o)
			n = 0
			for rows, _ := next(t, l); rows != nil; rows, _ = next(t, l) {
				n += int64(len(rows))
			}
			for range 20 { // batches of the next epoch are made meanwhile
				if s := l.Stats(); s.Skipped+n != 200 {
					t.Fatalf("%s: %d rows and %d skipped of the first of two epochs", want, n, s.Skipped)
				}
				time.Sleep(time.Millisecond)
			}
			lenient := *e[name]
			o.Encode = map[string]*Encoding{name: lenient.Unknown().Cut()}
			if name != "blob" {
				if rows, _ := next(t, load(t, s, o)); len(rows) != 100 {
					t.Errorf("%s, lenient: %d rows", want, len(rows))
				}
			}
		}
	}
	for want, e := range map[string]map[string]*Encoding{
		"listed twice":            {"colour": Categories("a", "a")},
		"no values to encode":     {"colour": OneHot()},
		"a length of 0":           {"list": Padded(0, 0)},
		"which cannot be encoded": {"x": Padded(1, 0)},
		"nothing has made":        {"x": {}},
		"no function":             {"blob": Decode(arrow.PrimitiveTypes.Float32, 1, nil)},
	} {
		if _, err := New(ctx, FromTable(all), Options{Batch: 1, Encode: e, Features: []string{only(e)}, Masks: true, Memory: a}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := New(ctx, TakeTable(all.Retain()), Options{Batch: 1, Encode: map[string]*Encoding{"colour": OneHot(colours...)}, Features: []string{"colour"}, Masks: true, Memory: a}); !errors.Is(err, device.ErrUnsupported) {
		t.Error(err)
	}
}

// only is the one name there is.
func only(e map[string]*Encoding) (name string) {
	for name = range e {
		break
	}
	return name
}
