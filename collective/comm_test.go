package collective

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/internal/float16"
)

// limit bounds every test's waits.
const limit = 60 * time.Second

// world makes the Comms of n ranks in this process.
func world(t testing.TB, n int, o Options) []*Comm {
	t.Helper()
	return over(t, inproc.New(n), o)
}

// over makes Comms of endpoints.
func over(t testing.TB, ends []transport.Endpoint, o Options) []*Comm {
	t.Helper()
	var all []*Comm
	t.Cleanup(func() { closeAtOnce(all) })
	for _, e := range ends {
		c, err := New(e, o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// closeAtOnce closes all ranks' ends as a program's ranks do: one that is closed before the others waits for them for a while.
func closeAtOnce[C io.Closer](ends []C) {
	var all sync.WaitGroup
	for _, e := range ends {
		all.Go(func() { _ = e.Close() })
	}
	all.Wait()
}

// each runs f for every rank at once and returns what they returned.
func each(t *testing.T, comms []*Comm, f func(c *Comm) error) []error {
	t.Helper()
	errs := make([]error, len(comms))
	ends := make(chan int, len(comms))
	for i, c := range comms {
		go func() {
			defer func() { ends <- i }()
			errs[i] = f(c)
		}()
	}
	late := time.After(limit)
	said := "the ranks hang"
	for range comms {
		select {
		case i := <-ends:
			said += fmt.Sprintf("; rank %d has ended: %v", i, errs[i])
		case <-late:
			t.Fatal(said)
		}
	}
	return errs
}

// must is each where no rank may fail.
func must(t *testing.T, comms []*Comm, f func(c *Comm) error) {
	t.Helper()
	for r, err := range each(t, comms, f) {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
}

// value is element i of rank r's vector, small enough that sums of int8 wrap alike
// whatever the order.
func value(r int, i int64) int { return (r*31+int(i)*7)%23 - 9 }

func fill[T Number](r int, n int64) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T(value(r, int64(i)))
	}
	return v
}

func TestOperations(t *testing.T) {
	for _, size := range []int{1, 2, 3, 4, 5, 8} {
		for op := algorithm.Broadcast; op <= algorithm.AllToAll; op++ {
			for _, a := range algorithm.For(op) {
				t.Run(fmt.Sprintf("%s/%s/%d", op, a.Name, size), func(t *testing.T) {
					comms := world(t, size, Options{Algorithms: map[algorithm.Op]string{op: a.Name}, Chunk: 512})
					for _, n := range []int64{0, 1, 13, 1000, 20011} {
						operation[float64](t, comms, op, n)
					}
					operation[int8](t, comms, op, 77)
					operation[uint32](t, comms, op, 77)
				})
			}
		}
	}
}

// The other transports carry the same schedules; short and long messages of each.
func TestOperationsOverTransports(t *testing.T) {
	for name, open := range transports {
		for _, size := range []int{2, 3, 4} {
			ends := open(t, size)
			for op := algorithm.Broadcast; op <= algorithm.AllToAll; op++ {
				for _, a := range algorithm.For(op) {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", name, op, a.Name, size), func(t *testing.T) {
						comms := over(t, split(t, ends, op.String()+a.Name), Options{Algorithms: map[algorithm.Op]string{op: a.Name}, Chunk: 16 << 10})
						for _, n := range []int64{0, 3, 1000, 50021} {
							operation[float32](t, comms, op, n)
						}
					})
				}
			}
			closeAtOnce(ends)
		}
	}
}

// operation calls one operation on blocks of n elements and checks all results.
func operation[T Number](t *testing.T, comms []*Comm, op algorithm.Op, n int64) {
	t.Helper()
	size, root := len(comms), len(comms)-1
	ctx := context.Background()
	sum := func(i int64) T {
		var s T
		for r := range size {
			s += T(value(r, i))
		}
		return s
	}
	must(t, comms, func(c *Comm) error {
		r := c.Rank()
		all := n * int64(size)
		var got, want []T
		var err error
		switch op {
		case algorithm.Broadcast:
			got, want = make([]T, n), fill[T](root, n)
			err = c.Broadcast(ctx, Of(fill[T](r, n)), Of(got), root)
		case algorithm.Reduce:
			got = make([]T, n)
			err = c.Reduce(ctx, Of(fill[T](r, n)), Of(got), Sum, root)
			want = make([]T, n)
			for i := range want {
				if r == root {
					want[i] = sum(int64(i))
				}
			}
		case algorithm.AllReduce:
			got = fill[T](r, n)
			err = c.AllReduce(ctx, Of(got), Of(got), Sum)
			for i := range n {
				want = append(want, sum(i))
			}
		case algorithm.ReduceScatter:
			got = make([]T, n)
			err = c.ReduceScatter(ctx, Of(fill[T](r, all)), Of(got), Sum)
			for i := range n {
				want = append(want, sum(int64(r)*n+i))
			}
		case algorithm.AllGather, algorithm.Gather:
			got = make([]T, all)
			if op == algorithm.AllGather {
				err = c.AllGather(ctx, Of(fill[T](r, n)), Of(got))
			} else {
				err = c.Gather(ctx, Of(fill[T](r, n)), Of(got), root)
			}
			for q := range size {
				if op == algorithm.Gather && r != root {
					want = make([]T, all)
					break
				}
				want = append(want, fill[T](q, n)...)
			}
		case algorithm.Scatter:
			got = make([]T, n)
			err = c.Scatter(ctx, Of(fill[T](root, all)), Of(got), root)
			want = fill[T](root, all)[int64(r)*n : int64(r+1)*n]
		case algorithm.AllToAll:
			got = make([]T, all)
			err = c.AllToAll(ctx, Of(fill[T](r, all)), Of(got))
			for q := range size {
				want = append(want, fill[T](q, all)[int64(r)*n:int64(r+1)*n]...)
			}
		}
		if err == nil && !slices.Equal(got, want) {
			err = fmt.Errorf("%d elements of %s are wrong", n, typeOf[T]())
		}
		return err
	})
}

func TestUnequalBlocks(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) { unequalBlocks(t, over(t, open(t, 4), Options{Deadline: limit})) })
	}
}

func unequalBlocks(t *testing.T, comms []*Comm) {
	counts := []int64{3, 0, 5, 1}
	start := []int64{0, 3, 3, 8}
	ctx := context.Background()
	must(t, comms, func(c *Comm) error {
		r := c.Rank()
		n := counts[r]
		all := fill[int32](7, 9)
		own := all[start[r] : start[r]+n]
		got := make([]int32, 9)
		if err := c.AllGatherV(ctx, Of(own), Of(got), counts); err != nil || !slices.Equal(got, all) {
			return fmt.Errorf("AllGatherV: %v, %w", got, err)
		}
		clear(got)
		if err := c.GatherV(ctx, Of(own), Of(got), counts, 2); err != nil || r == 2 && !slices.Equal(got, all) {
			return fmt.Errorf("GatherV: %v, %w", got, err)
		}
		part := make([]int32, n)
		if err := c.ScatterV(ctx, Of(all), Of(part), counts, 3); err != nil || !slices.Equal(part, own) {
			return fmt.Errorf("ScatterV: %v, %w", part, err)
		}
		if err := c.ReduceScatterV(ctx, Of(all), Of(part), counts, Max); err != nil || !slices.Equal(part, own) {
			return fmt.Errorf("ReduceScatterV: %v, %w", part, err)
		}
		// Rank r sends q+1 elements r*10+q to rank q.
		var send, want []int32
		sends, recvs := make([]int64, 4), make([]int64, 4)
		for q := range 4 {
			sends[q], recvs[q] = int64(q+1), int64(r+1)
			for range q + 1 {
				send = append(send, int32(r*10+q))
			}
			for range r + 1 {
				want = append(want, int32(q*10+r))
			}
		}
		to := make([]int32, len(want))
		if err := c.AllToAllV(ctx, Of(send), Of(to), sends, recvs); err != nil || !slices.Equal(to, want) {
			return fmt.Errorf("AllToAllV: %v, %w", to, err)
		}
		return c.Barrier(ctx)
	})
}

// All reductions of all types, against the same loop over all ranks.
func TestReductions(t *testing.T) {
	comms := world(t, 3, Options{})
	reductions[int8](t, comms)
	reductions[int16](t, comms)
	reductions[int32](t, comms)
	reductions[int64](t, comms)
	reductions[uint8](t, comms)
	reductions[uint16](t, comms)
	reductions[uint32](t, comms)
	reductions[uint64](t, comms)
	reductions[float32](t, comms)
	reductions[float64](t, comms)
}

func reductions[T Number](t *testing.T, comms []*Comm) {
	t.Helper()
	const n = 37
	fraction := typeOf[T]() >= Float16
	rules := []struct {
		op Op
		f  func(a, b T) T
	}{
		{Sum, func(a, b T) T { return a + b }}, {Prod, func(a, b T) T { return a * b }},
		{Min, func(a, b T) T { return min(a, b) }}, {Max, func(a, b T) T { return max(a, b) }},
		{Avg, func(a, b T) T { return a + b }},
		{NewOp("last", false, func(a, b T) T { return b }), func(a, b T) T { return b }},
		{And, nil}, {Or, nil}, {Xor, nil},
	}
	bits := map[string]func(a, b int64) int64{
		"and": func(a, b int64) int64 { return a & b }, "or": func(a, b int64) int64 { return a | b }, "xor": func(a, b int64) int64 { return a ^ b },
	}
	for _, rule := range rules {
		f := rule.f
		if f == nil {
			if fraction {
				for r, err := range each(t, comms, func(c *Comm) error {
					v := fill[T](c.Rank(), n)
					return c.AllReduce(context.Background(), Of(v), Of(v), rule.op)
				}) {
					if err == nil {
						t.Errorf("rank %d: %s of %s is not refused", r, rule.op, typeOf[T]())
					}
				}
				continue
			}
			f = func(a, b T) T { return T(bits[rule.op.name](int64(a), int64(b))) }
		}
		want := fill[T](0, n)
		for r := 1; r < len(comms); r++ {
			for i, x := range fill[T](r, n) {
				want[i] = f(want[i], x)
			}
		}
		if rule.op.name == "avg" {
			for i := range want {
				want[i] /= 3
			}
		}
		must(t, comms, func(c *Comm) error {
			got := make([]T, n)
			err := c.AllReduce(context.Background(), Of(fill[T](c.Rank(), n)), Of(got), rule.op)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("%s of %s is %v, want %v", rule.op, typeOf[T](), got, want)
			}
			return err
		})
	}
}

// 16-bit floats are summed in float32: 2048 + 1 + 1 + 1 is not 2048.
func TestHalves(t *testing.T) {
	comms := world(t, 4, Options{})
	for _, k := range []struct {
		vector func([]uint16) Vector
		to     func(float32) uint16
		from   func(uint16) float32
		big    float32
	}{{Halves, float16.Round, float16.Widen, 2048}, {BFloats, float16.RoundBrain, float16.WidenBrain, 256}} {
		must(t, comms, func(c *Comm) error {
			x := k.big
			if c.Rank() > 0 {
				x = 1
			}
			v := []uint16{k.to(x), k.to(-1.5)}
			if err := c.AllReduce(context.Background(), k.vector(v), k.vector(v), Sum); err != nil {
				return err
			}
			if got := k.from(v[0]); got != k.from(k.to(k.big+3)) || k.from(v[1]) != -6 {
				return fmt.Errorf("sums are %v and %v", got, k.from(v[1]))
			}
			v = []uint16{k.to(x), k.to(-x)}
			far := NewOp("farthest", true, func(a, b float32) float32 { return max(a, -a, b, -b) })
			if err := c.AllReduce(context.Background(), k.vector(v), k.vector(v), far); err != nil {
				return err
			}
			if a, b := k.from(v[0]), k.from(v[1]); a != k.big || b != k.big {
				return fmt.Errorf("a user's reduction gives %v and %v", a, b)
			}
			return nil
		})
	}
}

// Float32 vectors may travel in 16 bits; the result is that of rounded operands.
func TestWire(t *testing.T) {
	comms := world(t, 4, Options{Wire: BFloat16})
	must(t, comms, func(c *Comm) error {
		v := []float32{1 + 0x1p-12, 3}
		if err := c.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil {
			return err
		}
		if v[0] != 4 || v[1] != 12 {
			return fmt.Errorf("sums over bfloat16 are %v", v)
		}
		return nil
	})
}

// Operations started together run in the order of their calls on every rank.
func TestAsync(t *testing.T) {
	comms := world(t, 3, Options{})
	ctx := context.Background()
	must(t, comms, func(c *Comm) error {
		vectors := make([][]int64, 20)
		var started []*Handle
		for i := range vectors {
			vectors[i] = []int64{int64(i), int64(c.Rank())}
			started = append(started, c.AllReduceAsync(ctx, Of(vectors[i]), Of(vectors[i]), Sum))
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		for i, h := range started {
			if err := h.Wait(ctx); err != nil {
				return err
			}
			if vectors[i][0] != int64(3*i) || vectors[i][1] != 3 {
				return fmt.Errorf("operation %d gives %v", i, vectors[i])
			}
		}
		return nil
	})
}

// A ring of exchanges, each larger than a lane holds, does not wait in a circle.
func TestExchange(t *testing.T) {
	comms := world(t, 3, Options{})
	must(t, comms, func(c *Comm) error {
		next, prev := (c.Rank()+1)%3, (c.Rank()+2)%3
		var group []Transfer
		got := make([][]int32, 40)
		for i := range got {
			got[i] = make([]int32, 100)
			group = append(group, Transfer{Peer: next, Data: Of(fill[int32](c.Rank()+i, 100))}, Transfer{Peer: prev, Data: Of(got[i]), Recv: true})
		}
		if err := c.Exchange(context.Background(), group); err != nil {
			return err
		}
		for i := range got {
			if !slices.Equal(got[i], fill[int32](prev+i, 100)) {
				return fmt.Errorf("message %d is wrong", i)
			}
		}
		return nil
	})
}

func TestSplit(t *testing.T) {
	comms := world(t, 5, Options{})
	ctx := context.Background()
	must(t, comms, func(c *Comm) error {
		color := c.Rank() % 2
		if c.Rank() == 4 {
			color = -1
		}
		s, err := c.Split(ctx, color, -c.Rank())
		if err != nil {
			return err
		}
		if c.Rank() == 4 {
			if s != nil {
				return fmt.Errorf("a negative color gets a Comm")
			}
			return nil
		}
		defer s.Close()
		v := []int{c.Rank()}[0]
		all := make([]int64, 2)
		if err := s.AllGather(ctx, Of([]int64{int64(v)}), Of(all)); err != nil {
			return err
		}
		if want := []int64{int64(color) + 2, int64(color)}; !slices.Equal(all, want) {
			return fmt.Errorf("the ranks of the split are %v, want %v", all, want)
		}
		return nil
	})
}

// named keeps the names of the groups that an endpoint is asked for.
type named struct {
	transport.Endpoint
	names []string
}

func (n *named) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	n.names = append(n.names, name)
	return n.Endpoint.Split(ctx, name, members)
}

// Groups of the same ranks have names of their own, which all ranks give alike.
func TestGroupNames(t *testing.T) {
	plain := inproc.New(2)
	ends := []transport.Endpoint{&named{Endpoint: plain[0]}, &named{Endpoint: plain[1]}}
	ctx := context.Background()
	must(t, over(t, ends, Options{}), func(c *Comm) error {
		for range 3 {
			s, err := c.Sub(ctx, []int{0, 1})
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				return err
			}
			if s, err = c.Split(ctx, 1, 0); err == nil {
				err = s.Close()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	first, second := ends[0].(*named).names, ends[1].(*named).names
	if !slices.Equal(first, second) {
		t.Errorf("rank 0 asks for %q, rank 1 for %q", first, second)
	}
	slices.Sort(first)
	if len(slices.Compact(first)) != 6 {
		t.Errorf("the names are %q", first)
	}
}
