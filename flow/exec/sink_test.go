package exec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/memory"
)

// keeping is a sink that keeps rows, and fails where it is told to.
type keeping struct {
	exec.Keep
	lock         sync.Mutex
	open         int // states
	prepare      error
	make, update func() error
	merge        func(first int64) error
	closed       int
}

type keepingState struct {
	*keeping
	exec.Kept
}

func (k *keeping) Prepare(context.Context) error { return k.prepare }
func (k *keeping) Close()                        { k.closed++ }
func (k *keeping) count(n int) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.open += n
}

func (k *keeping) Make(context.Context) (exec.SinkState, error) {
	if k.make != nil {
		if err := k.make(); err != nil {
			return nil, err
		}
	}
	k.count(1)
	return &keepingState{keeping: k}, nil
}

func (k *keeping) Finish(_ context.Context, all exec.SinkState) (exec.Source, error) {
	defer all.Close()
	return exec.Batches(all.(*keepingState).Take()...), nil
}

func (s *keepingState) Update(ctx context.Context, b *flow.Batch) error {
	if s.update != nil {
		if err := s.update(); err != nil {
			b.Release()
			return err
		}
	}
	return s.Kept.Update(ctx, b)
}

func (s *keepingState) Merge(ctx context.Context, later exec.SinkState) error {
	l := later.(*keepingState)
	defer l.Close()
	held := l.Take()
	if s.merge != nil {
		if err := s.merge(first(held[0])); err != nil {
			exec.ReleaseAll(held)
			return err
		}
	}
	more := &exec.Kept{}
	_ = more.Read(ctx, held)
	return s.Kept.Merge(ctx, more)
}

func (s *keepingState) Close() {
	s.Kept.Close()
	s.count(-1)
}

// A sink gets all rows in the source's order, whoever carried them, and every state ends.
func TestSinks(t *testing.T) {
	for _, workers := range []int{1, 2, 3, 8} {
		for _, rows := range []int64{1, 3, exec.MorselRows} {
			t.Run(fmt.Sprintf("%d workers, morsels of %d", workers, rows), func(t *testing.T) {
				pool := memory.NewCounted(memory.Heap)
				source := &list{batches: []*flow.Batch{numbers(t, pool, 0, 100), numbers(t, pool, 100, 1), numbers(t, pool, 101, 99)}, end: io.EOF}
				op, sink := &each{f: twice}, &keeping{}
				s := exec.Sunk(exec.New(source, []exec.Operator{op}, exec.Options{Workers: workers, Rows: rows}), sink)
				var got []int64
				for {
					b, err := s.Next(t.Context())
					if err == io.EOF {
						break
					}
					require.NoError(t, err)
					require.EqualValues(t, 1, source.closed.Load(), "the pipeline is closed before its rows are given")
					got = append(got, memory.Values[int64](b.Column(0))...)
					b.Release()
				}
				s.Close()
				require.Len(t, got, 200)
				for i, v := range got {
					require.EqualValues(t, i, v)
				}
				require.Equal(t, op.states.Load(), op.closed.Load())
				require.Equal(t, []int{0, 1}, []int{sink.open, sink.closed})
				require.Zero(t, pool.Stats().Bytes)
			})
		}
	}
}

// Whatever fails or panics in a sink is an error of the query, that of the first morsel that
// has one, and nothing is left.
func TestFailingSinks(t *testing.T) {
	fail, later := errors.New("fail"), errors.New("later")
	panics := func() error { panic("fail") }
	fails := func() error { return fail }
	for _, workers := range []int{1, 3} {
		for name, make := range map[string]func() (*keeping, *each){
			"prepare":     func() (*keeping, *each) { return &keeping{prepare: fail}, nil },
			"make":        func() (*keeping, *each) { return &keeping{make: fails}, nil },
			"make panics": func() (*keeping, *each) { return &keeping{make: panics}, nil },
			"update":      func() (*keeping, *each) { return &keeping{update: fails}, nil },
			"merge":       func() (*keeping, *each) { return &keeping{merge: func(int64) error { return fail }}, nil },
			"merge, before": func() (*keeping, *each) {
				return &keeping{merge: func(at int64) error {
						if at == 20 {
							return fail
						}
						return nil
					}}, &each{f: func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
						if first(in) == 30 {
							in.Release()
							return later
						}
						return emit(in)
					}}
			},
		} {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				pool := memory.NewCounted(memory.Heap)
				sink, op := make()
				var ops []exec.Operator
				if op != nil {
					ops = []exec.Operator{op}
				}
				s := exec.Sunk(exec.New(&list{batches: []*flow.Batch{numbers(t, pool, 0, 100)}, end: io.EOF}, ops, exec.Options{Workers: workers, Rows: 10}), sink)
				_, err := s.Next(t.Context())
				require.ErrorContains(t, err, "fail")
				s.Close()
				require.Equal(t, []int{0, 1}, []int{sink.open, sink.closed})
				require.Zero(t, pool.Stats().Bytes)
			})
		}
	}
}

// tailing is an operator with a tail: the numbers of what it let pass, less a million.
type tailing struct {
	each
	lock sync.Mutex
	seen []int64
	fail error
}

func (o *tailing) Tails() bool { return true }

func (o *tailing) Tail(context.Context) (exec.Source, error) {
	if o.fail != nil {
		return nil, o.fail
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	var all []*flow.Batch
	for range o.seen {
		c := memory.NewCounted(memory.Heap)
		b, err := one(c, int64(len(all))-1e6)
		if err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return exec.Batches(all...), nil
}

func one(alloc memory.Allocator, v int64) (*flow.Batch, error) {
	b, err := memory.New(alloc, 8)
	if err != nil {
		return nil, err
	}
	memory.View[int64](b)[0] = v
	c, err := memory.NewColumn(memory.Parts{Type: schema.Field(0).Type, Len: 1, Buffers: []*memory.Buffer{nil, b}, Place: alloc.Place()})
	if err != nil {
		return nil, err
	}
	return flow.NewBatch(schema, 1, []*memory.Column{c})
}

func newTailing(fail error) *tailing {
	o := &tailing{fail: fail}
	o.f = func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error {
		o.lock.Lock()
		o.seen = append(o.seen, memory.Values[int64](in.Column(0))...)
		o.lock.Unlock()
		return emit(in)
	}
	return o
}

// The rows of tails come once all workers have passed the operator, behind its other rows, and
// through the operators after it, which may have tails themselves.
func TestTails(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for _, rows := range []int64{1, 7, exec.MorselRows} {
			t.Run(fmt.Sprintf("%d workers, morsels of %d", workers, rows), func(t *testing.T) {
				source := &list{batches: []*flow.Batch{numbers(t, memory.Heap, 0, 50)}, end: io.EOF}
				a, b := newTailing(nil), newTailing(nil)
				p := exec.New(source, []exec.Operator{&each{f: twice}, a, b}, exec.Options{Workers: workers, Rows: rows})
				got, err := run(t, p)
				p.Close()
				require.Equal(t, io.EOF, err)
				require.Len(t, a.seen, 50)
				require.Len(t, b.seen, 100)
				require.Len(t, got, 200)
				for i, v := range got {
					want := int64(i)
					if i >= 100 {
						want = int64(i) - 100 - 1e6
					} else if i >= 50 {
						want = int64(i) - 50 - 1e6
					}
					require.Equal(t, want, v)
				}
			})
		}
		t.Run(fmt.Sprintf("fails, %d workers", workers), func(t *testing.T) {
			source := &list{batches: []*flow.Batch{numbers(t, memory.Heap, 0, 50)}, end: io.EOF}
			fail := errors.New("fail")
			p := exec.New(source, []exec.Operator{newTailing(fail)}, exec.Options{Workers: workers, Rows: 3})
			got, err := run(t, p)
			p.Close()
			require.ErrorIs(t, err, fail)
			require.Len(t, got, 50)
		})
	}
}

// A source of few rows, in whatever batches, is carried by one goroutine; one that turns out to
// have many is not.
func TestFewRows(t *testing.T) {
	for _, k := range []struct {
		batches, rows int64
		alone         bool
	}{{1, 100, true}, {10, 100, true}, {3, exec.MorselRows, false}, {200, 100, false}, {1, 2 * exec.MorselRows, false}} {
		source := &list{end: io.EOF}
		for i := range k.batches {
			source.batches = append(source.batches, numbers(t, memory.Heap, i*k.rows, k.rows))
		}
		op := &each{f: func(_ context.Context, in *flow.Batch, emit func(*flow.Batch) error) error { return emit(in) }}
		p := exec.New(source, []exec.Operator{op}, exec.Options{Workers: 4})
		got, err := run(t, p)
		p.Close()
		require.Equal(t, io.EOF, err)
		require.Len(t, got, int(k.batches*k.rows))
		for i, v := range got {
			if int64(i) != v {
				t.Fatalf("row %d is %d", i, v)
			}
		}
		require.Equal(t, op.states.Load(), op.closed.Load())
		if k.alone {
			require.EqualValues(t, 1, op.states.Load())
		} else {
			require.GreaterOrEqual(t, op.states.Load(), int64(4))
		}
	}
}
