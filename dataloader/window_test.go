package dataloader

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestWindows holds windows of a table of several series to a loop that cuts
// them, over memory and over files.
func TestWindows(t *testing.T) {
	b, a := onHost(t)
	var entity []int32
	var known []bool
	for e, n := range []int{30, 7, 11, 1, 80} {
		for range n {
			entity, known = append(entity, int32(e/2)), append(known, e != 2) // series 0, 0, null, 1, 2
		}
	}
	rows := len(entity)
	x, y := make([]float32, rows), make([]float32, rows)
	for i := range x {
		x[i], y[i] = float32(i), float32(1000+i)
	}
	texts := make([]string, rows)
	for i, e := range entity {
		texts[i] = []string{"a basin", "", "basin"}[e]
	}
	all := made(t, b, table.Column("e", entity).Valid(known), table.Column("x", x), table.Column("y", y), table.Column("text", texts).Valid(known))
	path := t.TempDir() + "/x.parquet"
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 20}); err != nil {
		t.Fatal(err)
	}
	files := opened(t, b, storage.Parquet(path), FileOptions{Cache: 500})
	for _, w := range []Window{{History: 5, Horizon: 2}, {History: 3, Stride: 4, Entity: "e"}, {History: 6, Horizon: 5, Stride: 2, Entity: "e"}, {History: 1, Entity: "e"}, {History: 4, Horizon: 1, Entity: "text"}} {
		var firsts []int64
		begun := 0
		for i := 1; i <= rows; i++ {
			if i < rows && (w.Entity == "" || entity[i] == entity[i-1] && known[i] == known[i-1]) {
				continue
			}
			for at := begun; at+int(w.History+w.Horizon) <= i; at += int(max(1, w.Stride)) {
				firsts = append(firsts, int64(at))
			}
			begun = i
		}
		for name, s := range map[string]Source{"table": FromTable(all), "files": files} {
			o := Options{Batch: 7, Window: &w, Features: []string{"x", "y"}, Labels: []string{"y"}, Shuffle: true, Remainder: Uneven, Epochs: 1, Memory: a, Masks: true}
			l := load(t, s, o)
			var seen []int64
			for batch, err := range l.Batches(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, checkWindows(t, fmt.Sprint(name, w), batch, w, firsts)...)
			}
			slices.Sort(seen)
			if len(seen) != len(firsts) || len(slices.Compact(seen)) != len(firsts) {
				t.Errorf("%s %+v: %d windows, not %d", name, w, len(seen), len(firsts))
			}
			state, err := l.State(ctx)
			if err != nil {
				t.Fatal(err)
			}
			o.Window = &Window{History: w.History + 1, Horizon: w.Horizon, Stride: w.Stride, Entity: w.Entity}
			if _, err := Resume(ctx, s, o, state); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "the windows") {
				t.Errorf("a resume with other windows: %v", err)
			}
		}
	}
}

// checkWindows looks at a batch, and gives its windows.
func checkWindows(t *testing.T, name string, batch Batch, w Window, firsts []int64) []int64 {
	t.Helper()
	rows, err1 := batch.Rows()
	x, err2 := batch.Features()
	y, err3 := batch.Labels()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if want := []int64{int64(len(rows)), w.History, 2}; !slices.Equal(x.Shape(), want) {
		t.Fatalf("%s: the shape is %v, not %v", name, x.Shape(), want)
	}
	past, next := elements[float32](t, x), elements[float32](t, y)
	for i, row := range rows {
		for s := range w.History {
			for c := range int64(2) {
				if got, want := past[int64(i)*x.RowStride+s*x.StepStride+c], float32(firsts[row]+s+1000*c); got != want {
					t.Fatalf("%s: window %d step %d column %d is %v, not %v", name, row, s, c, got, want)
				}
			}
		}
		from, steps := w.History, w.Horizon
		if steps == 0 {
			from, steps = w.History-1, 1
		}
		for s := range steps {
			if got, want := next[int64(i)*steps+s], float32(1000+firsts[row]+from+s); got != want {
				t.Fatalf("%s: the label of window %d at step %d is %v, not %v", name, row, s, got, want)
			}
		}
	}
	return slices.Clone(rows)
}

func TestWindowsRefuse(t *testing.T) {
	b, a := onHost(t)
	all := encodable(t, b, 3)
	for want, o := range map[string]Options{
		"windows of 0 rows":             {Window: &Window{}},
		`no column "e" to tell`:         {Window: &Window{History: 1, Entity: "e"}},
		"numbers, texts and bytes do":   {Window: &Window{History: 1, Entity: "list"}},
		"3 rows of history and 1 of h":  {Window: &Window{History: 3, Horizon: 1}},
		"windows are RowMajor":          {Window: &Window{History: 1}, Layout: ColumnMajor},
		"every -1 rows":                 {Window: &Window{History: 1, Stride: -1}},
		"there is no column \"z\" to e": {Encode: map[string]*Encoding{"z": Categories("a")}},
	} {
		o.Batch, o.Memory, o.Features = 1, a, []string{"x"}
		if _, err := New(ctx, FromTable(all), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
