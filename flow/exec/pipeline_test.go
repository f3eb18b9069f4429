package exec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/memory"
)

var schema = arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)

// numbers is a batch of the numbers from from on.
func numbers(t testing.TB, alloc memory.Allocator, from, n int64) *flow.Batch {
	b, err := memory.New(alloc, n*8)
	require.NoError(t, err)
	for i := range n {
		memory.View[int64](b)[i] = from + i
	}
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: n, Buffers: []*memory.Buffer{nil, b}, Place: alloc.Place()})
	require.NoError(t, err)
	batch, err := flow.NewBatch(schema, n, []*memory.Column{c})
	require.NoError(t, err)
	return batch
}

// list gives batches, and then an error.
type list struct {
	batches []*flow.Batch
	end     error
	closed  atomic.Int64
}

func (l *list) Next(context.Context) (*flow.Batch, error) {
	if len(l.batches) == 0 {
		return nil, l.end
	}
	b := l.batches[0]
	l.batches = l.batches[1:]
	return b, nil
}

func (l *list) Close() {
	l.closed.Add(1)
	for _, b := range l.batches {
		b.Release()
	}
}

// each calls a function for each morsel.
type each struct {
	prepare, begin error
	f              func(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error
	states, closed atomic.Int64
	ended          atomic.Int64
}

func (e *each) Prepare(context.Context) error { return e.prepare }
func (e *each) Close()                        { e.ended.Add(1) }
func (e *each) Begin(context.Context) (exec.State, error) {
	if e.begin != nil {
		return nil, e.begin
	}
	e.states.Add(1)
	return eachState{e}, nil
}

type eachState struct{ *each }

func (s eachState) Close() { s.closed.Add(1) }
func (s eachState) Execute(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
	return s.f(ctx, in, emit)
}

func first(b *flow.Batch) int64 { return memory.Values[int64](b.Column(0))[0] }

// twice gives a morsel in two halves, later ones sooner.
func twice(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
	defer in.Release()
	time.Sleep(time.Duration(3-first(in)%4) * 100 * time.Microsecond)
	half := in.Len() / 2
	for _, part := range [][2]int64{{0, half}, {half, in.Len() - half}} {
		b, err := in.Slice(part[0], part[1])
		if err != nil {
			return err
		}
		if err := emit(b); err != nil {
			return err
		}
	}
	return nil
}

// run is the numbers that a pipeline gives before its error.
func run(t testing.TB, p *exec.Pipeline) (got []int64, err error) {
	for {
		b, err := p.Next(context.Background())
		if err != nil {
			return got, err
		}
		got = append(got, memory.Values[int64](b.Column(0))...)
		b.Release()
	}
}

// Whatever the number of workers, the morsel's length and what operators emit:
// rows come in the source's order, and nothing is left behind.
func TestOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		for _, rows := range []int64{1, 3, exec.MorselRows} {
			t.Run(fmt.Sprintf("%d workers, morsels of %d", workers, rows), func(t *testing.T) {
				pool := memory.NewCounted(memory.Heap)
				source := &list{end: io.EOF}
				var want []int64
				for from := int64(0); from < 400; {
					n := from%37 + 1
					source.batches = append(source.batches, numbers(t, pool, from, n))
					for i := range n {
						want = append(want, from+i)
					}
					from += n
				}
				a, b := &each{f: twice}, &each{f: twice}
				p := exec.New(source, []exec.Operator{a, b}, exec.Options{Workers: workers, Rows: rows})
				got, err := run(t, p)
				require.Equal(t, io.EOF, err)
				require.Equal(t, want, got)
				p.Close()
				p.Close()
				require.EqualValues(t, 1, source.closed.Load())
				if rows == exec.MorselRows { // so few rows are carried by one
					require.EqualValues(t, 1, a.states.Load())
				} else {
					require.EqualValues(t, workers, a.states.Load())
				}
				require.Equal(t, a.states.Load(), a.closed.Load())
				require.EqualValues(t, 1, b.ended.Load())
				require.Zero(t, pool.Stats().Bytes)
			})
		}
	}
}

// An error comes where its morsel's rows would have come, whoever met another one
// sooner; it is given again, and everything is given back.
func TestErrorsInOrder(t *testing.T) {
	late, soon := errors.New("late"), errors.New("soon")
	for _, workers := range []int{1, 2, 8} {
		for name, k := range map[string]struct {
			f    func(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error
			end  error
			want error
			rows int
		}{
			"of morsels": {func(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
				switch first(in) {
				case 20:
					in.Release()
					time.Sleep(5 * time.Millisecond)
					return late
				case 30:
					in.Release()
					return soon
				}
				return emit(in)
			}, io.EOF, late, 20},
			"of the source": {func(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error { return emit(in) }, late, late, 100},
			"behind batches of its morsel": {func(ctx context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
				at := first(in)
				if err := emit(in); err != nil || at < 50 {
					return err
				}
				return soon
			}, io.EOF, soon, 60},
		} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				pool := memory.NewCounted(memory.Heap)
				p := exec.New(&list{batches: []*flow.Batch{numbers(t, pool, 0, 100)}, end: k.end}, []exec.Operator{&each{f: k.f}},
					exec.Options{Workers: workers, Rows: 10})
				got, err := run(t, p)
				require.Equal(t, k.want, err)
				require.Len(t, got, k.rows)
				_, err = p.Next(context.Background())
				require.Equal(t, k.want, err)
				p.Close()
				require.Zero(t, pool.Stats().Bytes)
			})
		}
	}
}

// What cannot begin, and what panics, is an error.
func TestFailingOperators(t *testing.T) {
	fail := errors.New("fail")
	pass := func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error { return emit(in) }
	for _, workers := range []int{1, 3} {
		for name, op := range map[string]*each{
			"prepare": {f: pass, prepare: fail},
			"begin":   {f: pass, begin: fail},
			"panics":  {f: func(context.Context, *flow.Batch, func(*flow.Batch) error) error { panic("fail") }},
		} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				pool := memory.NewCounted(memory.Heap)
				source := &list{batches: []*flow.Batch{numbers(t, pool, 0, 100)}, end: io.EOF}
				p := exec.New(source, []exec.Operator{op}, exec.Options{Workers: workers, Rows: 10})
				got, err := run(t, p)
				require.ErrorContains(t, err, "fail")
				require.NotEqual(t, io.EOF, err)
				require.Empty(t, got)
				p.Close()
				require.EqualValues(t, 1, source.closed.Load())
				require.Equal(t, op.states.Load(), op.closed.Load())
			})
		}
	}
}

// A consumer that stops early, and one whose context ends while operators work and
// nobody takes what they emit, is answered within 100 ms, and nothing is left.
func TestEnds(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		t.Run(fmt.Sprintf("stops, %d workers", workers), func(t *testing.T) {
			pool := memory.NewCounted(memory.Heap)
			source := &list{batches: []*flow.Batch{numbers(t, pool, 0, 1000)}, end: io.EOF}
			p := exec.New(source, []exec.Operator{&each{f: twice}, &each{f: twice}}, exec.Options{Workers: workers, Rows: 8})
			b, err := p.Next(context.Background())
			require.NoError(t, err)
			b.Release()
			p.Close()
			require.Zero(t, pool.Stats().Bytes)
			_, err = p.Next(context.Background())
			require.ErrorIs(t, err, device.ErrClosed)
		})
		t.Run(fmt.Sprintf("canceled, %d workers", workers), func(t *testing.T) {
			pool := memory.NewCounted(memory.Heap)
			ctx, cancel := context.WithCancel(context.Background())
			waits := &each{f: func(ctx context.Context, in *flow.Batch, _ func(*flow.Batch) error) error {
				in.Release()
				<-ctx.Done()
				return ctx.Err()
			}}
			p := exec.New(&list{batches: []*flow.Batch{numbers(t, pool, 0, 1000)}, end: io.EOF}, []exec.Operator{waits}, exec.Options{Workers: workers, Rows: 8})
			time.AfterFunc(10*time.Millisecond, cancel)
			_, err := p.Next(ctx)
			require.ErrorIs(t, err, context.Canceled)
			p.Close()
			require.Zero(t, pool.Stats().Bytes)
		})
	}
}
