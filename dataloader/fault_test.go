package dataloader

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

func nothing(context.Context, Batch) error { return nil }

// TestRefused is what New does not take, and what it says of it.
func TestRefused(t *testing.T) {
	b, a := onHost(t)
	few := numbers(t, b, 10, 2)
	empty, err := few.Query().Head(0).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Release()
	mixed := made(t, b, table.Column("big", []int64{1, 2, 1 << 40}), table.Column("f", []float64{1, 2, 3}),
		table.Column("s", []string{"x", "y", "z"}), table.Column("n", []int64{1, 2, 3}).Valid([]bool{true, false, true}), table.Column("u", []uint64{1, 1 << 63, 3}))
	i32, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	only := func(name string, t arrow.DataType) Options {
		return Options{Batch: 1, Features: []string{name}, Type: t}
	}
	for want, c := range map[string]struct {
		src  Source
		o    Options
		kind error
	}{
		"no source":                         {FromTable(nil), Options{Batch: 1}, device.ErrMismatch},
		"has no rows":                       {FromTable(empty), Options{Batch: 1}, device.ErrMismatch},
		"no whole batch of 6 for each of 2": {FromTable(few), Options{Batch: 6, Size: 2, Remainder: Drop}, device.ErrMismatch},
		"batches of 0 rows":                 {FromTable(few), Options{}, device.ErrMismatch},
		"rank 1 of 1":                       {FromTable(few), Options{Batch: 1, Rank: 1}, device.ErrMismatch},
		"layout 3":                          {FromTable(few), Options{Batch: 1, Layout: 3}, device.ErrMismatch},
		"-2 workers":                        {FromTable(few), Options{Batch: 1, Workers: -2}, device.ErrMismatch},
		"ring of -1":                        {FromTable(few), Options{Batch: 1, Prefetch: -1}, device.ErrMismatch},
		"-1 epochs":                         {FromTable(few), Options{Batch: 1, Epochs: -1}, device.ErrMismatch},
		"remainder 9":                       {FromTable(few), Options{Batch: 1, Remainder: 9}, device.ErrMismatch},
		"tensors of uint8":                  {FromTable(few), Options{Batch: 1, Type: arrow.PrimitiveTypes.Uint8}, device.ErrUnsupported},
		`no column "zz"`:                    {FromTable(few), Options{Batch: 1, Features: []string{"zz"}}, device.ErrMismatch},
		`"aa" is named twice`:               {FromTable(few), Options{Batch: 1, Features: []string{"aa"}, Labels: []string{"aa"}}, device.ErrMismatch},
		"no columns":                        {FromTable(few), Options{Batch: 1, Features: []string{}}, device.ErrMismatch},
		`row 2 of column "big" is 1099511627776, which int32 cannot hold`: {FromTable(mixed), only("big", i32), device.ErrValue},
		`row 1 of column "u"`:    {FromTable(mixed), only("u", i64), device.ErrValue},
		"is not cut to int64":    {FromTable(mixed), only("f", i64), device.ErrUnsupported},
		`"s" is of type utf8`:    {FromTable(mixed), only("s", nil), device.ErrUnsupported},
		`column "n" has 1 nulls`: {FromTable(mixed), only("n", nil), device.ErrMismatch},
		"cannot lie in cuda:0":   {FromTable(few), Options{Batch: 1, Memory: elsewhere{a}}, device.ErrMismatch},
		"bytes requested":        {FromTable(few), Options{Batch: 1, Memory: memory.NewLimited(a, 63)}, device.ErrOutOfMemory},
	} {
		if c.o.Memory == nil {
			c.o.Memory = a
		}
		if _, err := New(ctx, c.src, c.o); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := New(ended, FromTable(few), Options{Batch: 1, Memory: a}); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// elsewhere is memory that says that the host cannot address it.
type elsewhere struct{ memory.Allocator }

func (elsewhere) Place() memory.Place { return memory.Place{Type: memory.CUDA} }

// TestMemoryRunsOut lets the ring fail at each of its allocations: nothing may be
// left over, which onHost looks at.
func TestMemoryRunsOut(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 1000, 8))
	failed := 0
	for limit := int64(0); ; limit += 8 << 10 {
		l, err := New(ctx, src, Options{Batch: 100, Shuffle: true, Prefetch: 4, Spare: 32 << 10, Memory: memory.NewLimited(a, limit)})
		if err == nil {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		if failed++; !errors.Is(err, device.ErrOutOfMemory) {
			t.Fatalf("%d bytes: %v", limit, err)
		}
	}
	if failed < 4 {
		t.Errorf("it failed %d times", failed)
	}
}

// TestTransform changes batches, and holds its failures to their turn.
func TestTransform(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 100, 2))
	broken := errors.New("broken")
	at := func(step int64, do func() error) func(context.Context, Batch) error {
		return func(_ context.Context, b Batch) error {
			if err := b.Release(); !errors.Is(err, device.ErrMismatch) {
				return errors.New("a transform released its batch")
			}
			if i, err := b.Info(); err != nil || i.Step == step {
				return errors.Join(err, do())
			}
			x, err := b.Features()
			if err != nil {
				return err
			}
			v, err := Elements[float32](x)
			v[0] = -1
			return err
		}
	}
	for _, workers := range []int{InCaller, 1, 3} {
		for text, do := range map[string]func() error{
			"batch 3 of epoch 0, at position 30: transform: broken":              func() error { return broken },
			"transform: panicked: broken":                                        func() error { panic(broken) },
			"transform: panicked: 7":                                             func() error { panic(7) },
			"transform: panicked: runtime error: index":                          func() error { var v []int; v[len(v)]++; return nil },
			"batch 3 of epoch 0, at position 30: transform: ended its goroutine": func() error { runtime.Goexit(); return nil },
		} {
			if workers == InCaller && strings.Contains(text, "ended") {
				continue // it is the caller's own goroutine that ends
			}
			l := load(t, src, Options{Batch: 10, Workers: workers, Memory: a, Transform: at(3, do)})
			for i := range 3 {
				batch, err := l.Next(ctx)
				if err != nil {
					t.Fatalf("%s: batch %d: %v", text, i, err)
				}
				if x, err := batch.Features(); err != nil || elements[float32](t, x)[0] != -1 {
					t.Errorf("%s: batch %d is not transformed: %v", text, i, err)
				}
				if err := batch.Release(); err != nil {
					t.Error(err)
				}
			}
			for range 2 {
				_, err := l.Next(ctx)
				if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(text, "broken") && !errors.Is(err, broken) {
					t.Errorf("%s: %v", text, err)
				}
			}
			if s, err := l.State(ctx); err != nil || s.Position != 30 {
				t.Errorf("%s: the state is %+v, %v", text, s, err)
			}
		}
	}
}

// TestCanceled ends contexts of waits: the loader goes on with another one, and
// nothing is lost.
func TestCanceled(t *testing.T) {
	b, a := onHost(t)
	src := FromTable(numbers(t, b, 100, 2))
	for _, workers := range []int{InCaller, 2} {
		waiting, gate := make(chan bool, 100), make(chan bool)
		l := load(t, src, Options{Batch: 10, Workers: workers, Memory: a, Transform: func(c context.Context, _ Batch) error {
			waiting <- true
			select {
			case <-gate:
				return nil
			case <-c.Done():
				return context.Cause(c)
			}
		}})
		short, stop := context.WithCancel(ctx)
		go func() {
			<-waiting
			stop()
		}()
		if _, err := l.Next(short); !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: %v", workers, err)
		}
		if _, err := l.Next(short); !errors.Is(err, device.ErrCanceled) {
			t.Errorf("%d workers, again: %v", workers, err)
		}
		close(gate)
		for i := range int64(10) {
			if rows, _ := next(t, l); len(rows) != 10 || rows[0] != 10*i {
				t.Errorf("%d workers: batch %d is %v", workers, i, rows)
			}
		}
		if rows, _ := next(t, l); rows != nil {
			t.Errorf("%d workers: after the last batch %v", workers, rows)
		}
	}
}

// TestCloseWakesNext closes a loader under a Next that waits for a batch that
// never comes.
func TestCloseWakesNext(t *testing.T) {
	b, a := onHost(t)
	begun := make(chan bool, 100)
	l := load(t, FromTable(numbers(t, b, 100, 2)), Options{Batch: 10, Workers: 1, Memory: a, Transform: func(c context.Context, _ Batch) error {
		begun <- true
		<-c.Done()
		return c.Err()
	}})
	got := make(chan error)
	go func() {
		_, err := l.Next(ctx)
		got <- err
	}()
	<-begun
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil || !errors.Is(err, device.ErrClosed) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStopEarly leaves loops at a break and at a panic: no batch stays lent, the
// workers wait, and the next loop goes on.
func TestStopEarly(t *testing.T) {
	b, a := onHost(t)
	l := load(t, FromTable(numbers(t, b, 100, 2)), Options{Batch: 10, Workers: 2, Prefetch: 2, Epochs: 2, Memory: a})
	for range 2 {
		for _, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of a loop's body is lost")
			}
		}()
		for range l.Batches(ctx) {
			panic("body")
		}
	}()
	if n := l.lent.Load(); n != 0 {
		t.Errorf("%d batches are lent", n)
	}
	var steps []int64
	for range 3 {
		for b, err := range l.Batches(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			i, err := b.Info()
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, 10*i.Epoch+i.Step)
			if err := b.Release(); err != nil { // allowed in the body
				t.Error(err)
			}
		}
	}
	for i, s := range steps {
		if s != int64(3+i) || len(steps) != 17 {
			t.Fatalf("%d batches: %v", len(steps), steps)
		}
	}
	if _, err := l.Next(ctx); err != io.EOF {
		t.Errorf("after all epochs: %v", err)
	}
	if made := l.ticket.Load(); made > 20+2 {
		t.Errorf("%d tickets for 20 batches", made)
	}
	s := l.Stats()
	if s.Batches != 20 || s.Rows != 200 || s.RowsPerSecond <= 0 || s.Gather <= 0 || s.Bound == "" || s.Fill < 0 || s.Fill > 2 ||
		s.Ring != 2*(10*8+128) || s.Spare != 0 {
		t.Errorf("%+v", s)
	}
}

// TestUnevenRankWithoutRows is a rank for which there is nothing at all.
func TestUnevenRankWithoutRows(t *testing.T) {
	b, a := onHost(t)
	l := load(t, FromTable(numbers(t, b, 3, 1)), Options{Batch: 10, Size: 5, Rank: 4, Remainder: Uneven, Epochs: 3, Memory: a})
	for range 4 {
		if rows, _ := next(t, l); rows != nil {
			t.Errorf("%v", rows)
		}
	}
}

// TestReader holds the table's Reader to its arguments.
func TestReader(t *testing.T) {
	b, a := onHost(t)
	r, err := FromTable(numbers(t, b, 10, 2)).Open(ctx, a, []Part{{Columns: []int{0, 1}, Type: arrow.PrimitiveTypes.Float32}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := Part{Columns: []int{0, 1}, Type: arrow.PrimitiveTypes.Float32}
	one := func(n int64) []Tensor { return []Tensor{p.over(n, make([]byte, 1024), nil, nil)} }
	for _, c := range []struct {
		rows []int64
		to   []Tensor
		kind error
	}{{[]int64{9}, one(1), nil}, {[]int64{10}, one(1), device.ErrValue}, {[]int64{-1}, one(1), device.ErrValue}, {[]int64{1}, nil, device.ErrMismatch}, {[]int64{1}, one(2), device.ErrMismatch}} {
		if err := r.Read(ctx, c.rows, c.to); !errors.Is(err, c.kind) {
			t.Errorf("rows %v: %v", c.rows, err)
		}
	}
}
