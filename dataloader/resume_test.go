package dataloader

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// TestKillAndResume takes 100 trainings through two epochs that are killed at
// random and gone on with by other numbers of ranks, batch sizes and workers:
// each row comes once an epoch, however it was interrupted.
func TestKillAndResume(t *testing.T) {
	b, a := onHost(t)
	const epochs = 2
	large, small := FromTable(numbers(t, b, 1003, 2, 100, 700)), FromTable(numbers(t, b, 23, 2))
	for run := range 100 {
		src, batch := large, int64(97)
		if run%2 == 1 { // often too few rows for a batch on every rank
			src, batch = small, 5
		}
		rows := int(src.NumRows())
		random := rand.New(rand.NewPCG(uint64(run), 1))
		seen := make([]int, rows*epochs)
		o := Options{Shuffle: true, Seed: uint64(run), Epochs: epochs, Remainder: Remainder(random.IntN(2)) * Uneven, Memory: a}
		var state State
		for life := 0; state.Epoch < epochs; life++ {
			o.Size, o.Batch = 1+random.IntN(5), 1+random.Int64N(batch)
			o.Workers, o.Prefetch = []int{InCaller, 1, 3}[random.IntN(3)], 1+random.IntN(5)
			ranks := make([]*Loader, o.Size)
			for r := range ranks {
				o.Rank = r
				var err error
				if life == 0 {
					ranks[r], err = New(ctx, src, o)
				} else {
					ranks[r], err = Resume(ctx, src, o, state)
				}
				if err != nil {
					t.Fatalf("run %d, life %d: %v", run, life, err)
				}
			}
			state = live(t, ranks, random.IntN(40*rows/1003+4), seen)
			for _, l := range ranks {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("run %d: row %d came %d times in epoch %d", run, i%rows, n, i/rows)
			}
		}
	}
}

// live lets all ranks make some steps, and gives the state, which has to be the
// same on all.
func live(t *testing.T, ranks []*Loader, steps int, seen []int) State {
	t.Helper()
	waits := make([]bool, len(ranks)) // for the others to end the epoch
	for range steps {
		if !slices.Contains(waits, false) {
			clear(waits)
		}
		for i, l := range ranks {
			if waits[i] {
				continue
			}
			before := l.epoch
			rows, padded := next(t, l)
			for _, r := range rows[:len(rows)-int(padded)] {
				seen[before*l.sampler.Rows+r]++
			}
			waits[i] = rows == nil
		}
	}
	first, err := ranks[0].State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range ranks {
		if s, err := l.State(ctx); err != nil || s.Position != first.Position || s.Epoch != first.Epoch || s.Plan != first.Plan {
			t.Fatalf("rank 0 is at %+v, rank %d at %+v: %v", first, i, s, err)
		}
	}
	text, err := json.Marshal(first)
	if err != nil || len(text) > 120 {
		t.Fatalf("%s is %d bytes: %v", text, len(text), err)
	}
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestEndOfEpoch holds the state to the boundary: after the last batch it is the
// next epoch's beginning, before and after Next has said so.
func TestEndOfEpoch(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 10, 1))
	l := load(t, src, Options{Batch: 5, Memory: a})
	for i, want := range []State{{Position: 5}, {Epoch: 1}, {Epoch: 1}, {Epoch: 1, Position: 5}} {
		next(t, l)
		s, err := l.State(ctx)
		if err != nil || s.Epoch != want.Epoch || s.Position != want.Position {
			t.Errorf("after %d calls: %+v, %v", i+1, s, err)
		}
		again, err := Resume(ctx, src, l.options, s)
		if err != nil {
			t.Fatal(err)
		}
		if rows, _ := next(t, again); len(rows) != 5 || rows[0] != want.Position {
			t.Errorf("after %d calls: it goes on with %v", i+1, rows)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	// Drop: what is left is too little for more ranks, so the next epoch begins.
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	more, err := Resume(ctx, src, Options{Batch: 5, Size: 2, Remainder: Drop, Memory: a}, s)
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	if got, err := more.State(ctx); err != nil || got.Epoch != 2 || got.Position != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResumeSaysWhatChanged(t *testing.T) {
	b, a := onHost(t)
	columns := func(change func(x []float32, y []int64)) []table.Series {
		x, y := []float32{1, 2, 3, 4}, []int64{5, 6, 7, 8}
		change(x, y)
		return []table.Series{table.Column("x", x), table.Column("y", y)}
	}
	same := func([]float32, []int64) {}
	src := FromTable(made(t, b, columns(same)...))
	o := Options{Batch: 2, Labels: []string{"y"}, Shuffle: true, Seed: 7, Memory: a}
	state, err := load(t, src, o).State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Options)) Options {
		c := o
		change(&c)
		return c
	}
	other := FromTable(made(t, b, columns(func(_ []float32, y []int64) { y[3] = 9 })...))
	nulls := FromTable(made(t, b, columns(same)[0], columns(same)[1].Valid([]bool{true, false, true, true})))
	moved := state
	moved.Position = 4
	for want, c := range map[string]struct {
		src   Source
		o     Options
		state State
	}{
		"the values":                    {other, o, state},
		"masks, the values":             {nulls, with(func(o *Options) { o.Masks = true }), state},
		"the seed (7, now 8)":           {src, with(func(o *Options) { o.Seed = 8 }), state},
		"the order":                     {src, with(func(o *Options) { o.Shuffle = false }), state},
		"types or masks":                {src, with(func(o *Options) { o.Layout = ColumnMajor }), state},
		"names or types of the columns": {src, with(func(o *Options) { o.Features, o.Labels = []string{"y"}, []string{"x"} }), state},
		"the number of rows":            {FromTable(numbers(t, b, 5, 2)), with(func(o *Options) { o.Labels = nil }), state},
		"no plan":                       {src, o, State{Seed: 7, Plan: "12"}},
		"position 4 of 4 rows":          {src, o, moved},
		"epoch -1":                      {src, o, State{Epoch: -1, Plan: state.Plan}},
	} {
		if _, err := Resume(ctx, c.src, c.o, c.state); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	// Held in chunks, the same values are the same.
	halves, err := src.(*tableSource).t.Query().Head(1).Union(src.(*tableSource).t.Query().Slice(1, 3)).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer halves.Release()
	if len(halves.Chunks()) != 2 {
		t.Fatalf("%d chunks", len(halves.Chunks()))
	}
	l, err := Resume(ctx, FromTable(halves), with(func(o *Options) { o.Size, o.Batch, o.Remainder, o.Workers = 2, 1, Uneven, 1 }), state)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
