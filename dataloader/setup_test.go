package dataloader

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

var ctx = context.Background()

// onHost is a backend over counted memory: the test fails on a leak.
func onHost(t testing.TB) (*kernels.Backend, memory.Allocator) {
	t.Helper()
	counted, before := memory.NewTraced(memory.Heap), memory.OverReleases()
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - before; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return b, counted
}

// value is what stands in row i of column c of a table of numbers.
func value(i, c int64) float64 { return float64(i*32 + c) }

// numbers is a table of float32 columns, cut into chunks at the rows given.
func numbers(t testing.TB, b *kernels.Backend, rows int64, columns int, cuts ...int64) *table.Table {
	t.Helper()
	names := make([]arrow.Field, columns)
	var chunks []*table.Batch
	for c := range names {
		names[c] = arrow.Field{Name: string(rune('a'+c/26)) + string(rune('a'+c%26)), Type: arrow.PrimitiveTypes.Float32}
	}
	from := int64(0)
	for _, to := range append(cuts, rows) {
		var series []table.Series
		for c := range names {
			v := make([]float32, to-from)
			for i := range v {
				v[i] = float32(value(from+int64(i), int64(c)))
			}
			series = append(series, table.Column(names[c].Name, v))
		}
		one, err := table.New(b, series...)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range one.Chunks() {
			chunks = append(chunks, chunk.Retain())
		}
		one.Release()
		from = to
	}
	whole, err := table.NewTable(b, arrow.NewSchema(names, nil), chunks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(whole.Release)
	return whole
}

// made is a table of columns that the test ends.
func made(t testing.TB, b *kernels.Backend, columns ...table.Series) *table.Table {
	t.Helper()
	one, err := table.New(b, columns...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.Release)
	return one
}

// closedLast closes files when the test ends, after the loaders over them that load
// makes.
func closedLast(t testing.TB, f *Files) {
	t.Helper()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// load makes a loader that the test closes.
func load(t testing.TB, s Source, o Options) *Loader {
	t.Helper()
	l, err := New(ctx, s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if r, ok := l.reader.(*tableReader); ok && l.options.Seed%2 == 1 {
		r.laying.Wait() // with other seeds batches come from both sides of it
	}
	if r, ok := l.reader.(*takenLoan); ok && l.options.Seed%2 == 1 {
		r.laying.Wait()
	}
	return l
}

// next is the next batch's rows and padding, or nil at the end of an epoch.
func next(t testing.TB, l *Loader) (rows []int64, padded int64) {
	t.Helper()
	b, err := l.Next(ctx)
	if err == io.EOF {
		return nil, 0
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Rows()
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.Info()
	if err != nil {
		t.Fatal(err)
	}
	rows = append(rows, all...)
	if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	return rows, info.Padded
}

// elements are those of a tensor.
func elements[T Element](t testing.TB, of Tensor) []T {
	t.Helper()
	v, err := Elements[T](of)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
