package gang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table"
)

// limit bounds what should not take long, and quick is how soon calls obey their context, on a machine that is busy.
const (
	limit = 60 * time.Second
	quick = time.Second
)

// The test's own program is what workers run.
func TestMain(m *testing.M) {
	for name, f := range tests {
		if err := Register(name, f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if os.Getenv(Variable) == "" {
		os.Exit(m.Run())
	}
	if os.Getenv(dies) != "" {
		os.Exit(3)
	}
	w, err := Enter(context.Background())
	if err == nil {
		err = w.Serve(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// dies has a worker end before it enters.
const dies = "VOLLEY_GANG_TEST_DIES"

// tests are the functions of the tests.
var tests = map[string]Function{
	"echo":    func(_ context.Context, _ *Worker, args ...any) (any, error) { return retain(args), nil },
	"pid":     func(context.Context, *Worker, ...any) (any, error) { return os.Getpid(), nil },
	"sum":     sumOfRanks,
	"threads": func(context.Context, *Worker, ...any) (any, error) { return processors.Count(), nil },
	"make": func(_ context.Context, w *Worker, args ...any) (any, error) {
		first, each := args[0].(int64), args[1].(int64)
		return numbers(first+int64(w.Rank())*each, each), nil
	},
	"labels": func(_ context.Context, w *Worker, args ...any) (any, error) {
		return labels(int(args[0].(int64)))
	},
	"tardy": func(ctx context.Context, w *Worker, args ...any) (any, error) { // goes on after its call has failed and the next one has come
		if w.Rank() == 0 {
			return nil, errors.New("it is the one that fails")
		}
		<-ctx.Done()
		for next := false; !next; time.Sleep(time.Millisecond) {
			w.open.Lock()
			next = w.open.epoch >= uint64(args[0].(int64))
			w.open.Unlock()
		}
		for _, ctx := range []context.Context{ctx, context.Background()} {
			if c, err := w.Comm(ctx); err == nil {
				return nil, errors.Join(c.Barrier(ctx), errors.New("it has the next call's Comm"))
			}
			if c, err := w.Group(ctx, "late", []int{0, 1, 2}); err == nil {
				return nil, errors.Join(c.Close(), errors.New("it has a group of the next call's"))
			}
		}
		return nil, nil
	},
	"fail": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		if w.Rank() == int(args[0].(int64)) {
			return nil, errors.New("it is the one that fails")
		}
		return sumOfRanks(ctx, w)
	},
	"self": func(_ context.Context, w *Worker, _ ...any) (any, error) {
		alone.Store(w)
		return nil, nil
	},
	"panic": func(_ context.Context, w *Worker, _ ...any) (any, error) { panic(fmt.Sprint("worker ", w.Rank())) },
	"die": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		if w.Rank() == int(args[0].(int64)) {
			os.Exit(9)
		}
		return sumOfRanks(ctx, w)
	},
	"wait": func(ctx context.Context, _ *Worker, _ ...any) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	},
	"get": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		t, err := w.Table(ctx, args[0].(Ref))
		if err != nil {
			return nil, err
		}
		return t, nil
	},
	"redistribute": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		return w.Redistribute(ctx, args[0].(Ref))
	},
	"questions": func(ctx context.Context, w *Worker, args ...any) (any, error) { // how many a redistribution asks, and the rows that it gets
		before := w.node.Asks()
		t, err := w.Redistribute(ctx, args[0].(Ref))
		if err != nil {
			return nil, err
		}
		defer t.Release()
		return []any{int64(w.node.Asks() - before), t.NumRows()}, nil
	},
	"varied": func(_ context.Context, w *Worker, args ...any) (any, error) {
		return variedTable(args[w.Rank()].(string))
	},
	"ring": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
		message := make([]byte, args[0].(int64))
		for i := range message {
			message[i] = byte(i + w.Rank())
		}
		if err := w.Send(ctx, next, 7, message); err != nil {
			return nil, err
		}
		got, err := w.Recv(ctx, before, 7)
		if err != nil {
			return nil, err
		}
		for i, b := range got {
			if b != byte(i+before) || len(got) != len(message) {
				return nil, fmt.Errorf("byte %d is %d", i, b)
			}
		}
		return before, nil
	},
	"group": func(ctx context.Context, w *Worker, args ...any) (any, error) {
		var ranks []int
		for r := w.Rank() % 2; r < w.Size(); r += 2 {
			ranks = append(ranks, r)
		}
		c, err := w.Group(ctx, args[0].(string), ranks)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		x := make([]int64, args[1].(int64))
		for i := range x {
			x[i] = int64(w.Rank())
		}
		if err := c.AllReduce(ctx, collective.Of(x), collective.Of(x), collective.Sum); err != nil {
			return nil, err
		}
		return x[len(x)-1], nil
	},
}

func sumOfRanks(ctx context.Context, w *Worker, _ ...any) (any, error) {
	c, err := w.Comm(ctx)
	if err != nil {
		return nil, err
	}
	x := []int64{int64(w.Rank())}
	if err := c.AllReduce(ctx, collective.Of(x), collective.Of(x), collective.Sum); err != nil {
		return nil, err
	}
	return x[0], nil
}

// numbers is a table of consecutive ones.
func numbers(first, n int64) *table.Table {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(first + i)
	}
	col := b.NewArray()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	backend, err := hostBackend()
	if err != nil {
		panic(err)
	}
	t, err := table.FromRecord(backend, array.NewRecordBatch(schema, []arrow.Array{col}, n))
	if err != nil {
		panic(err)
	}
	return t
}

// consecutive says that a table has these numbers.
func consecutive(t *testing.T, of *table.Table, first, n int64) {
	require.EqualValues(t, n, of.NumRows())
	records, err := of.ToRecords()
	require.NoError(t, err)
	for _, r := range records {
		for _, v := range r.Column(0).(*array.Int64).Int64Values() {
			require.Equal(t, first, v)
			first++
		}
		r.Release()
	}
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// serving is a worker that runs what it is told.
func serving() Workers {
	return Goroutines(func(ctx context.Context, w *Worker) error { return w.Serve(ctx) })
}

func program(t *testing.T) Workers {
	self, err := os.Executable()
	require.NoError(t, err)
	return Processes(self)
}

func start(t *testing.T, body Workers, o Options) *Gang {
	g, err := Start(bounded(t), body, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Stop(context.Background())) })
	return g
}

// each is a test on goroutines and on processes.
func each(t *testing.T, workers int, f func(t *testing.T, g *Gang)) {
	for name, body := range map[string]Workers{"goroutines": serving(), "processes": program(t)} {
		t.Run(name, func(t *testing.T) { f(t, start(t, body, Options{Workers: workers})) })
	}
}

// results are what a function gives on all workers.
func results(t *testing.T, g *Gang, name string, args ...any) []any {
	refs, err := g.Run(bounded(t), name, args...)
	require.NoError(t, err)
	all := make([]any, len(refs))
	for i, r := range refs {
		require.Equal(t, i, r.Parts[0].Rank)
		all[i], err = g.Get(bounded(t), r)
		require.NoError(t, err)
		require.NoError(t, g.Drop(bounded(t), r))
		_, err = g.Get(bounded(t), r)
		require.ErrorIs(t, err, ErrNotFound)
	}
	return all
}

func TestRun(t *testing.T) {
	each(t, 3, func(t *testing.T, g *Gang) {
		require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
		args := []any{nil, true, false, int64(-5), 2.5, "text", []byte("bytes"), Blob{"pickle", []byte("x")}, []any{"a", []any{}}, map[string]any{"k": int64(1)}}
		for _, got := range results(t, g, "echo", args...) {
			require.Equal(t, args, got)
		}
		require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
		_, err := g.Run(bounded(t), "nothing of the kind")
		require.ErrorIs(t, err, ErrNotFound)
		_, err = g.Run(bounded(t), "panic")
		var failed *CallError
		require.ErrorAs(t, err, &failed)
		require.Contains(t, failed.Text, fmt.Sprint("worker ", failed.Rank))
		_, err = g.Run(bounded(t), "echo", struct{}{})
		require.ErrorIs(t, err, device.ErrUnsupported)
	})
}

// alone is the worker that ran "self" last.
var alone atomic.Pointer[Worker]

// A call that goes on where it has failed elsewhere takes nothing from the next one.
func TestTardyCall(t *testing.T) {
	each(t, 3, func(t *testing.T, g *Gang) {
		for failed := range 2 {
			_, err := g.Run(bounded(t), "tardy", failed+1)
			require.ErrorContains(t, err, "it is the one that fails")
			require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
		}
	})
}

// Answers of calls that have failed come late: they close nothing that a later call has made, and a Comm that was begun before the failure is
// not kept for the next call.
func TestLateAnswers(t *testing.T) {
	g := start(t, serving(), Options{Workers: 1})
	refs, err := g.Run(bounded(t), "self")
	require.NoError(t, err)
	require.NoError(t, g.Drop(bounded(t), refs[0]))
	w := alone.Load()
	first, err := w.Comm(bounded(t))
	require.NoError(t, err)
	w.reach(2) // two calls have failed, of one of which this worker knows nothing
	require.ErrorIs(t, first.Barrier(bounded(t)), device.ErrClosed)
	second, err := w.Comm(bounded(t))
	require.NoError(t, err)
	for late := range uint64(2) {
		w.reach(late + 1)
	}
	require.NoError(t, second.Barrier(bounded(t)))
	again, err := w.Comm(bounded(t))
	require.NoError(t, err)
	require.Same(t, second, again)

	// The call fails while its Comm is made: between workers of one process nothing waits, so only the epoch tells.
	for range 200 {
		w.open.Lock()
		epoch := w.open.epoch
		w.open.Unlock()
		w.reach(epoch + 1)
		failed := make(chan struct{})
		go func() {
			defer close(failed)
			w.reach(epoch + 2)
		}()
		made, err := w.Comm(bounded(t))
		<-failed
		w.open.Lock()
		kept := w.open.world
		w.open.Unlock()
		if err == nil && kept != nil {
			require.NoError(t, kept.Barrier(bounded(t)), "a Comm of a call that has failed is kept")
		} else if err == nil {
			require.ErrorIs(t, made.Barrier(bounded(t)), device.ErrClosed)
		}
	}
}

// A function that fails on one worker ends the others' calls, also those that wait for it, and says why. The next call is as if nothing had been.
func TestFailure(t *testing.T) {
	each(t, 3, func(t *testing.T, g *Gang) {
		for rank := range 3 {
			began := time.Now()
			_, err := g.Run(bounded(t), "fail", rank)
			var failed *CallError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, CallError{rank, "fail", "it is the one that fails"}, *failed)
			require.Less(t, time.Since(began), 10*time.Second)
			require.Equal(t, []any{int64(3), int64(3), int64(3)}, results(t, g, "sum"))
		}
	})
}

func TestMessages(t *testing.T) {
	each(t, 3, func(t *testing.T, g *Gang) {
		for _, n := range []int{0, 1, short, short + 1, 3 << 20} {
			require.Equal(t, []any{int64(2), int64(0), int64(1)}, results(t, g, "ring", n))
		}
		err := g.Send(bounded(t), 3, 0, nil)
		require.ErrorIs(t, err, device.ErrMismatch)
		_, err = g.Recv(bounded(t), -2, 0)
		require.ErrorIs(t, err, device.ErrMismatch)
	})
}

// short is the length from which on a message stays with its sender.
const short = 64 << 10

func TestGroups(t *testing.T) {
	each(t, 4, func(t *testing.T, g *Gang) {
		for i, n := range []int{1, 1000, 300_000} {
			require.Equal(t, []any{int64(2), int64(4), int64(2), int64(4)}, results(t, g, "group", fmt.Sprint("task ", i), n))
		}
		_, err := g.Run(bounded(t), "group", "task 0", 1)
		require.ErrorContains(t, err, "before")
		require.Equal(t, []any{int64(2), int64(4), int64(2), int64(4)}, results(t, g, "group", "task 9", 1))
	})
}

// Tables go where they are wanted: parts of any lengths to any number of workers, in order.
func TestTables(t *testing.T) {
	each(t, 3, func(t *testing.T, g *Gang) {
		for _, n := range []int64{0, 1, 10_000, 100_001} {
			refs, err := g.Run(bounded(t), "make", int64(5), n)
			require.NoError(t, err)
			all, err := Union(refs...)
			require.NoError(t, err)
			whole, err := g.Table(bounded(t), all)
			require.NoError(t, err)
			consecutive(t, whole, 5, 3*n)
			back, err := ParseRef(all.String())
			require.NoError(t, err)
			require.Equal(t, all, back)
			here, err := g.Put(bounded(t), "a name, with # and /", whole)
			require.NoError(t, err)
			whole.Release()
			more, err := Union(refs[1], here, refs[0])
			require.NoError(t, err)
			parts := results(t, g, "redistribute", more)
			want, err := g.Table(bounded(t), more)
			require.NoError(t, err)
			at := int64(0)
			for rank, p := range parts {
				part := p.(*table.Table)
				require.EqualValues(t, share(5*n, rank+1, 3)-share(5*n, rank, 3), part.NumRows())
				expected, err := window(want, at, part.NumRows())
				require.NoError(t, err)
				require.Equal(t, expected.String(), part.String())
				at += part.NumRows()
				expected.Release()
				part.Release()
			}
			want.Release()
			for _, p := range results(t, g, "get", refs[2]) {
				consecutive(t, p.(*table.Table), 5+2*n, n)
				p.(*table.Table).Release()
			}
		}
	})
}

// Within a process nothing is copied.
func TestNothingCopied(t *testing.T) {
	g := start(t, serving(), Options{Workers: 2})
	made := numbers(0, 10)
	ref, err := g.Put(bounded(t), "x", made)
	require.NoError(t, err)
	for _, got := range results(t, g, "get", ref) {
		require.Same(t, made, got)
	}
}

// M parts go to N workers with M+N-1 questions at most, which the workers count. A worker without rows asks one for the columns, and no more.
func TestFewMessages(t *testing.T) {
	const workers = 4
	g := start(t, program(t), Options{Workers: workers})
	for _, rows := range []int64{0, 1, 7} {
		refs, err := g.Run(bounded(t), "make", int64(0), rows)
		require.NoError(t, err)
		for m := 1; m <= workers; m++ {
			var parts []Ref
			for i := range m { // none lies where it is wanted
				parts = append(parts, refs[(i+workers/2)%workers])
			}
			all, err := Union(parts...)
			require.NoError(t, err)
			asked, got := int64(0), int64(0)
			for _, v := range results(t, g, "questions", all) {
				said := v.([]any)
				asked, got = asked+said[0].(int64), got+said[1].(int64)
				require.LessOrEqual(t, said[0].(int64), max(1, int64(m)))
				if said[1].(int64) == 0 {
					require.LessOrEqual(t, said[0].(int64), int64(1))
				}
			}
			require.Equal(t, int64(m)*rows, got)
			require.Positive(t, asked)
			require.LessOrEqual(t, asked, int64(m+workers-1), "%d parts of %d rows", m, rows)
		}
	}
}

// What is not there yet is waited for no longer than the context says.
func TestContexts(t *testing.T) {
	each(t, 2, func(t *testing.T, g *Gang) {
		for name, call := range map[string]func(ctx context.Context) error{
			"Run":  func(ctx context.Context) error { _, err := g.Run(ctx, "wait"); return err },
			"Recv": func(ctx context.Context) error { _, err := g.Recv(ctx, 1, 5); return err },
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			began := time.Now()
			err := call(ctx)
			require.ErrorIs(t, err, device.ErrCanceled, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Less(t, time.Since(began), quick, name)
			cancel()
		}
		require.Equal(t, []any{int64(1), int64(1)}, results(t, g, "sum"))
	})
}

func TestSlots(t *testing.T) {
	slots := NewSlots(3)
	one := start(t, serving(), Options{Workers: 2, Slots: slots})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, serving(), Options{Workers: 2, Slots: slots})
	require.ErrorIs(t, err, device.ErrCanceled)
	_, err = Start(bounded(t), serving(), Options{Workers: 4, Slots: slots})
	require.ErrorIs(t, err, device.ErrMismatch)
	require.ErrorContains(t, err, "4 workers want a place each, of 3")
	second := make(chan error, 2)
	for range 2 {
		go func() {
			g, err := Start(bounded(t), serving(), Options{Workers: 3, Slots: slots})
			if err == nil {
				err = g.Stop(context.Background())
			}
			second <- err
		}()
	}
	require.NoError(t, one.Stop(context.Background()))
	require.NoError(t, <-second)
	require.NoError(t, <-second)
}

func TestInvitations(t *testing.T) {
	for _, text := range []string{"", "x", "tcp://host:1", "tcp://127.0.0.1:1?run=ab", "http://h:1?run=0"} {
		_, err := EnterAs(bounded(t), text)
		require.ErrorIs(t, err, device.ErrMismatch, text)
	}
	t.Setenv(Variable, "")
	_, err := Enter(bounded(t))
	require.ErrorIs(t, err, device.ErrUnavailable)
	require.ErrorContains(t, err, Variable)
	for _, text := range []string{"", "gang:", "gang:00.1/x#1.2", "gang:0011223344556677889900112233445566.1/x#0.0.0", strings.Repeat("x", 100)} {
		_, err := ParseRef(text)
		require.ErrorIs(t, err, device.ErrMismatch, text)
	}
}
