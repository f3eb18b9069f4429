package table

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// remoteBackend is a second backend, elsewhere than the test's.
func remoteBackend(t *testing.T, id int32) *kernels.Backend {
	b := kerneltest.Remote(memory.Place{Type: memory.CUDA, ID: id}, cpu.Generic())
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// inUse is the bytes that a remote backend has given out.
func inUse(b *kernels.Backend) int64 {
	return b.Device.(interface{ InUse() int64 }).InUse()
}

// everyLayout is records of all layouts: bits, fixed widths, texts, lists,
// structs, dictionaries, nulls; the second a window of the first.
func everyLayout(t *testing.T) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int16, Nullable: true},
		{Name: "m", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "S", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "L", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "r", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "y", Type: arrow.ListOf(arrow.FixedWidthTypes.Boolean), Nullable: true}), Nullable: true},
		{Name: "d", Type: dict, Nullable: true},
		{Name: "n", Type: arrow.Null, Nullable: true},
	}, nil)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`{"b":%v,"i":%d,"m":"%d.25","s":"text %d","S":"ü%d","l":["a%d",null,""],"L":[%d.5],"r":{"x":%d,"y":[true,null]},"d":"word %d","n":null}`,
			i%3 == 0, i, i, i, i, i, i, i, i%5))
		lines = append(lines, `{"b":null,"i":null,"m":null,"s":null,"S":null,"l":null,"L":[],"r":null,"d":null,"n":null}`)
	}
	record, _, err := array.RecordFromJSON(arrowmem.DefaultAllocator, schema, strings.NewReader("["+strings.Join(lines, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	window := record.NewSlice(13, 150)
	t.Cleanup(func() { record.Release(); window.Release() })
	return schema, []arrow.RecordBatch{record, window}
}

// sameRecords holds a table to records.
func sameRecords(t *testing.T, what string, got *Table, want []arrow.RecordBatch) {
	t.Helper()
	records, err := got.ToRecords()
	if err != nil || len(records) != len(want) {
		t.Fatalf("%s: %d records of %d: %v", what, len(records), len(want), err)
	}
	for i, r := range records {
		if !array.RecordEqual(r, want[i]) {
			t.Errorf("%s: record %d is %v, not %v", what, i, r, want[i])
		}
		r.Release()
	}
}

// Tables of all layouts go from the test's backend to another device, from
// there to a third, and back.
func TestToMovesEveryLayout(t *testing.T) {
	schema, records := everyLayout(t)
	here, there, third := testBackend(t), remoteBackend(t, 1), remoteBackend(t, 2)
	first, err := FromRecords(here, schema, records...)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	sameRecords(t, "as made", first, records)
	from := first.Retain()
	for i, b := range []*kernels.Backend{there, third, here} {
		next, err := from.To(t.Context(), b)
		if err != nil {
			t.Fatalf("move %d: %v", i, err)
		}
		from.Release()
		from = next
		for _, c := range next.Chunks() {
			for k := range c.NumColumns() {
				if c.Column(k).Place() != b.Device.Place() {
					t.Fatalf("move %d: column %d lives on %s", i, k, c.Column(k).Place())
				}
			}
		}
		if next.Backend() != b {
			t.Fatalf("move %d: on %s", i, next.Backend().Device.Name())
		}
		sameRecords(t, fmt.Sprint("move ", i), next, records)
		if next.String() != first.String() {
			t.Errorf("move %d: prints\n%snot\n%s", i, next, first)
		}
	}
	from.Release()
	if n, m := inUse(there), inUse(third); n != 0 || m != 0 {
		t.Errorf("%d and %d bytes are left on the devices", n, m)
	}
}

func TestToOnOneDeviceIsNoCopy(t *testing.T) {
	b := testBackend(t)
	made, err := New(b, Column("a", []int64{1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	again, err := made.To(t.Context(), &kernels.Backend{Device: b.Device, Set: b.Set})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	if again.Chunks()[0].Column(0) != made.Chunks()[0].Column(0) {
		t.Error("the column was copied")
	}
}

func TestToFailsWhole(t *testing.T) {
	schema, records := everyLayout(t)
	b, there := testBackend(t), remoteBackend(t, 1)
	made, err := FromRecords(b, schema, records...)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	limit := there.Device.(interface{ LimitMemory(int64) })
	for _, n := range []int64{1, 100, 1000, 5000} {
		limit.LimitMemory(n)
		if _, err := made.To(t.Context(), there); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("within %d bytes: %v", n, err)
		}
		if inUse(there) != 0 {
			t.Errorf("within %d bytes: %d are left", n, inUse(there))
		}
	}
	limit.LimitMemory(0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := made.To(ended, there); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("under an ended context: %v", err)
	}
	if inUse(there) != 0 {
		t.Errorf("%d bytes are left", inUse(there))
	}
}

// A batch that Batches gives can be read from any stream: the device has made
// it.
func TestBatchesAreThere(t *testing.T) {
	b := remoteBackend(t, 1)
	set := *b.Set
	set.Filter.Func = func(ctx context.Context, s device.Stream, c, mask *memory.Column, o kernels.FilterOptions) (*memory.Column, error) {
		if err := s.Call("slow", func() error { time.Sleep(30 * time.Millisecond); return nil }); err != nil {
			return nil, err
		}
		return b.Set.Filter.Func(ctx, s, c, mask, o)
	}
	slow := &kernels.Backend{Device: b.Device, Set: &set}
	made, err := New(slow, Column("a", []int64{1, 2, 3, 4}))
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	for batch, err := range From(made).Filter("a > 2").Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		one, err := NewTable(b, batch.Schema(), []*Batch{batch.Retain()})
		if err != nil {
			t.Fatal(err)
		}
		equalRows(t, "rows", shown(one), []string{"3", "4"})
		one.Release()
	}
}
