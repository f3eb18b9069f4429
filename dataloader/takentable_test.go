package dataloader

import (
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// TestTakeTable holds a table that was taken to give what it gives otherwise, and
// the same State.
func TestTakeTable(t *testing.T) {
	b, a := onHost(t)
	valid := make([]bool, 9)
	for i := range valid {
		valid[i] = i%3 != 1
	}
	mixed := made(t, b, table.Column("i", []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}), table.Column("f", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}).Valid(valid),
		table.Column("b", []bool{true, false, true, true, false, false, true, true, false}))
	for name, all := range map[string]*table.Table{"numbers": numbers(t, b, 1003, 6, 100, 700), "mixed": mixed} {
		for i, o := range []Options{
			{Masks: true}, {Masks: true, Layout: ColumnMajor}, {Masks: true, Layout: Columns}, {Masks: true, Type: arrow.PrimitiveTypes.Float64, Labels: []string{all.Schema().Field(0).Name}},
		} {
			o.Batch, o.Shuffle, o.Epochs, o.Memory = 97, true, 2, a
			got, want := load(t, TakeTable(all.Retain()), o), load(t, FromTable(all), o)
			same(t, fmt.Sprint(name, i), got, want)
			x, err := got.State(ctx)
			y, wrong := want.State(ctx)
			if x != y || err != nil || wrong != nil {
				t.Errorf("%s: %+v, %v and %+v, %v", name, x, err, y, wrong)
			}
		}
	}
}

// TestTakenOnce makes loaders of one table twice, and none.
func TestTakenOnce(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 100, 3, 50)
	s := TakeTable(all.Retain())
	if _, err := New(ctx, s, Options{Batch: 7, Features: []string{"aa"}, Memory: memory.NewLimited(a, 300)}); !errors.Is(err, device.ErrOutOfMemory) {
		t.Error(err)
	}
	load(t, s, Options{Batch: 7, Memory: a, Features: []string{"aa"}})
	if _, err := New(ctx, s, Options{Batch: 7, Memory: a}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Fingerprint(ctx, []int{1}); !errors.Is(err, device.ErrClosed) {
		t.Error(err)
	}
	none := TakeTable(all.Retain())
	if err := errors.Join(none.Close(), none.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	big := made(t, b, table.Column("big", []int64{1, 1 << 40}))
	s = TakeTable(big.Retain())
	if _, err := New(ctx, s, Options{Batch: 1, Type: arrow.PrimitiveTypes.Int32, Memory: a}); !errors.Is(err, device.ErrValue) {
		t.Error(err)
	}
	load(t, s, Options{Batch: 1, Memory: a}) // it was not lost by that
}
