package collective

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// A group's results are those of its operations one by one, and its short AllReduces
// are one operation.
func TestGroup(t *testing.T) {
	ctx := context.Background()
	comms := world(t, 3, Options{})
	must(t, comms, func(c *Comm) error {
		r := c.Rank()
		var in, out [5][]float32
		g := c.Group()
		for i := range in {
			in[i], out[i] = fill[float32](r+i, int64(10*i)), make([]float32, 10*i)
			g.AllReduce(Of(in[i]), Of(out[i]), Sum)
		}
		in[4] = in[4][:0]
		most := fill[float32](r, 100)
		g.AllReduce(Of(most), Of(most), Max)
		one := fill[int64](1, 7)
		g.Broadcast(Of(one), Of(one), 2)
		all, sum, part := make([]int32, 6), make([]int16, 4), make([]int8, 2)
		g.AllGather(Of([]int32{int32(r), int32(-r)}), Of(all))
		g.Reduce(Of([]int16{1, 2, 3, 4}), Of(sum), Sum, 1)
		g.ReduceScatter(Of(fill[int8](r, 6)), Of(part), Sum)
		next, before, got := (r+1)%3, (r+2)%3, make([]uint8, 9)
		g.Send(Of(fill[uint8](r, 9)), next)
		g.Recv(Of(got), before)
		if err := g.Run(ctx); err != nil {
			return err
		}
		for i := range out {
			for k, x := range out[i] {
				if want := float32(value(i, int64(k)) + value(i+1, int64(k)) + value(i+2, int64(k))); x != want {
					return fmt.Errorf("sum %d[%d] is %v, want %v", i, k, x, want)
				}
			}
		}
		for k, x := range most {
			if want := float32(max(value(0, int64(k)), value(1, int64(k)), value(2, int64(k)))); x != want {
				return fmt.Errorf("maximum %d is %v, want %v", k, x, want)
			}
		}
		switch {
		case !slices.Equal(all, []int32{0, 0, 1, -1, 2, -2}):
			return fmt.Errorf("AllGather gives %v", all)
		case r == 1 && !slices.Equal(sum, []int16{3, 6, 9, 12}):
			return fmt.Errorf("Reduce gives %v", sum)
		case !slices.Equal(got, fill[uint8](before, 9)):
			return fmt.Errorf("received %v", got)
		}
		for k, x := range part {
			i := int64(2*r + k)
			if int(x) != value(0, i)+value(1, i)+value(2, i) {
				return fmt.Errorf("ReduceScatter gives %v", part)
			}
		}
		return nil
	})
	for _, o := range comms[0].Stats().Operations {
		if want := map[string]uint64{"AllReduce": 2}[o.Op]; want != 0 && o.Calls != want { // sums, and maxima
			t.Errorf("%d calls of %s", o.Calls, o.Op)
		}
	}
	g := comms[0].Group()
	g.Send(Of([]int8{1}), 0)
	g.AllReduce(Of([]int8{1}), Of([]int8{1, 2}), Sum)
	if err := g.Run(ctx); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "no peer 0") {
		t.Errorf("a wrong group: %v", err)
	}
	must(t, comms, func(c *Comm) error { return errors2(c.Group().Run(ctx), c.Barrier(ctx)) })
}

// The forms with counts may be part of a group, and so may a barrier.
func TestGroupWithCounts(t *testing.T) {
	const ranks = 3
	ctx := context.Background()
	comms := world(t, ranks, Options{})
	must(t, comms, func(c *Comm) error {
		me := c.Rank()
		counts, unequal := []int64{1, 0, 3}, []int64{0, 2, 2, 2}
		block := [][]int64{{0}, {}, {2, 2, 2}}[me]
		sends, recvs := make([]int64, ranks), make([]int64, ranks)
		var sent, theirs []int64
		for r := range ranks { // r+q elements of 10r+q from r to q
			sends[r], recvs[r] = int64(me+r), int64(r+me)
			sent = append(sent, slices.Repeat([]int64{int64(10*me + r)}, me+r)...)
			theirs = append(theirs, slices.Repeat([]int64{int64(10*r + me)}, r+me)...)
		}
		all, root, mine := make([]int64, 4), make([]int64, 4), make([]int64, len(block))
		got, sum := make([]int64, len(theirs)), make([]int64, len(block))
		g := c.Group()
		g.AllGatherV(Of(block), Of(all), counts)
		g.GatherV(Of(block), Of(root), counts, 1)
		g.Barrier()
		g.ScatterV(Of(unequal), Of(mine), counts, 2)
		g.AllToAllV(Of(sent), Of(got), sends, recvs)
		g.ReduceScatterV(Of(unequal), Of(sum), counts, Sum)
		clear(counts)
		clear(sends)
		clear(recvs)
		if err := g.Run(ctx); err != nil {
			return err
		}
		switch {
		case !slices.Equal(all, unequal):
			return fmt.Errorf("AllGatherV gives %v", all)
		case me == 1 && !slices.Equal(root, unequal):
			return fmt.Errorf("GatherV gives %v", root)
		case !slices.Equal(mine, block):
			return fmt.Errorf("ScatterV gives %v", mine)
		case !slices.Equal(got, theirs):
			return fmt.Errorf("AllToAllV gives %v, want %v", got, theirs)
		}
		for i, x := range sum {
			if x != ranks*block[i] {
				return fmt.Errorf("ReduceScatterV gives %v", sum)
			}
		}
		wrong := c.Group()
		wrong.AllGatherV(Of(block), Of(all), []int64{4, 4, 4})
		if err := wrong.Run(ctx); !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("wrong counts: %w", err)
		}
		return nil
	})
}

// Vectors given at different speeds are fused alike on all ranks.
func TestFuser(t *testing.T) {
	const tensors, ranks = 300, 3
	comms := world(t, ranks, Options{})
	must(t, comms, func(c *Comm) error {
		f, err := NewFuser(context.Background(), c, FuserOptions{Bytes: 4096, Delay: 100 * time.Microsecond})
		if err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(1, uint64(c.Rank())))
		var handles [tensors]*Handle
		var vectors [tensors][]float64
		for i := range tensors {
			vectors[i] = fill[float64](c.Rank()+i, int64(i%40*10))
			op := Sum
			if i%50 > 45 {
				op = Max
			}
			handles[i] = f.AllReduceAsync(Of(vectors[i]), Of(vectors[i]), op)
			if random.IntN(20) == 0 {
				time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
			}
			if i == 100 { // in the middle, as it is at the end
				if err := f.Wait(context.Background()); err != nil {
					return err
				}
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
		for i, v := range vectors {
			if err := handles[i].Wait(context.Background()); err != nil {
				return err
			}
			for k, x := range v {
				a, b, c := value(i, int64(k)), value(i+1, int64(k)), value(i+2, int64(k))
				want := float64(a + b + c)
				if i%50 > 45 {
					want = float64(max(a, b, c))
				}
				if x != want {
					return fmt.Errorf("tensor %d[%d] is %v, want %v", i, k, x, want)
				}
			}
		}
		calls := uint64(0)
		for _, o := range f.c.Stats().Operations {
			calls += o.Calls
		}
		if calls < 100 || calls > 2*tensors { // of 4 KiB each at most: 150 vectors' worth
			return fmt.Errorf("%d operations for %d tensors", calls, tensors)
		}
		if h := f.AllReduceAsync(Of(vectors[0]), Of(vectors[0]), Sum); !errors.Is(h.Wait(context.Background()), device.ErrClosed) {
			return fmt.Errorf("after Close: %w", h.err)
		}
		return nil
	})
}

// A rank that goes ends the others' waits.
func TestFuserFails(t *testing.T) {
	comms := world(t, 2, Options{Deadline: limit})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for r, err := range each(t, comms, func(c *Comm) error {
		f, err := NewFuser(ctx, c, FuserOptions{})
		if err != nil {
			return err
		}
		v := Of(make([]float32, 10))
		if c.Rank() == 1 {
			cancel()
		}
		return errors2(f.AllReduceAsync(v, v, Sum).Wait(context.Background()), errors2(f.Wait(context.Background()), f.Close()))
	}) {
		if !errors.Is(err, device.ErrCanceled) && !errors.Is(err, device.ErrLost) && !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// The Fault of the Fuser's own group names the rank that left, also after the Fuser's close, and the Comm has none.
func TestFuserFault(t *testing.T) {
	comms := world(t, 2, Options{Deadline: limit})
	must(t, comms, func(c *Comm) error {
		ctx := context.Background()
		f, err := NewFuser(ctx, c, FuserOptions{})
		if err != nil {
			return err
		}
		if before := f.Fault(); before != nil {
			return before
		}
		if c.Rank() == 1 {
			return errors2(f.Close(), c.Barrier(ctx))
		}
		v := Of(make([]float32, 10))
		err = f.AllReduceAsync(v, v, Sum).Wait(ctx)
		fault := f.Fault()
		if err == nil || fault == nil || !slices.Equal(fault.Ranks, []int{1}) || c.Fault() != nil {
			return fmt.Errorf("%v: Fault %v, of the Comm %v", err, fault, c.Fault())
		}
		if f.Close() == nil || f.Fault() != fault {
			return fmt.Errorf("after Close: %v", f.Fault())
		}
		return c.Barrier(ctx)
	})
}

// Gradients become ready in any order on any rank; buckets keep theirs. Three steps
// over the same memory.
func TestAverager(t *testing.T) {
	const ranks = 4
	for _, wire := range []Type{0, BFloat16, Float16} {
		comms := world(t, ranks, Options{})
		must(t, comms, func(c *Comm) error {
			ctx := context.Background()
			var tensors []Vector
			var floats [][]float32
			for i := range 30 {
				floats = append(floats, make([]float32, 100+i))
				tensors = append(tensors, Of(floats[i]))
			}
			doubles := make([]float64, 50)
			tensors = append(tensors, Of(doubles), Of(make([]float32, 5000)))
			a, err := NewAverager(ctx, c, tensors, AveragerOptions{Bytes: 4096, Wire: wire})
			if err != nil {
				return err
			}
			defer a.Close()
			if a.Buckets() != 6 { // 30 tensors of 400 to 516 bytes in four, and one each
				return fmt.Errorf("%d buckets", a.Buckets())
			}
			random := rand.New(rand.NewPCG(2, uint64(c.Rank())))
			for step := range 3 {
				for i, v := range floats {
					for k := range v {
						v[k] = float32(1024 * (c.Rank() + i%3 + k%5 + step)) // multiples that 16 bits hold
					}
				}
				for k := range doubles {
					doubles[k] = float64(c.Rank() * (k + step))
				}
				for _, i := range random.Perm(len(tensors) - 1) { // the last one is not needed
					if err := a.Ready(ctx, i); err != nil {
						return err
					}
				}
				if err := a.Ready(ctx, 3); !errors.Is(err, device.ErrMismatch) {
					return fmt.Errorf("ready twice: %w", err)
				}
				if err := a.Wait(ctx); err != nil {
					return err
				}
				for i, v := range floats {
					for k, x := range v {
						want := 1024 * (1.5 + float64(i%3+k%5+step))
						if math.Abs(float64(x)-want) > want*map[Type]float64{0: 0, BFloat16: 1.0 / 64, Float16: 1.0 / 512}[wire] {
							return fmt.Errorf("%s, step %d: tensor %d[%d] is %v, want %v", wire, step, i, k, x, want)
						}
					}
				}
				for k, x := range doubles {
					if x != 1.5*float64(k+step) {
						return fmt.Errorf("double %d is %v", k, x)
					}
				}
			}
			if err := a.Ready(ctx, len(tensors)); !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("a tensor that is not there: %w", err)
			}
			return nil
		})
	}
}

// Float16 on the wire: sums of large values would be infinite, their average is not.
func TestAveragerDoesNotOverflow(t *testing.T) {
	comms := world(t, 4, Options{Wire: Float16})
	must(t, comms, func(c *Comm) error {
		v := []float32{60000, -60000}
		a, err := NewAverager(context.Background(), c, []Vector{Of(v)}, AveragerOptions{})
		if err != nil {
			return err
		}
		defer a.Close()
		if err := errors2(a.Ready(context.Background(), 0), a.Wait(context.Background())); err != nil || v[0] != 60000 || v[1] != -60000 {
			return fmt.Errorf("the average is %v, %w", v, err)
		}
		return nil
	})
}

// A step that some rank never comes to ends with the context of who waits.
func TestAveragerCanceled(t *testing.T) {
	comms := world(t, 2, Options{Deadline: limit})
	over := make(chan struct{})
	for r, err := range each(t, comms, func(c *Comm) error {
		v := make([]float32, 10)
		a, err := NewAverager(context.Background(), c, []Vector{Of(v)}, AveragerOptions{})
		if err != nil {
			return err
		}
		defer a.Close()
		if c.Rank() == 1 {
			<-over
			return nil
		}
		defer close(over)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		time.AfterFunc(10*time.Millisecond, cancel)
		return a.Wait(ctx)
	}) {
		if r == 0 && !errors.Is(err, device.ErrCanceled) || r == 1 && err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// BenchmarkFusion compares 64 AllReduces of 1 KiB one by one with a group of them.
func BenchmarkFusion(b *testing.B) {
	for _, fused := range []bool{false, true} {
		b.Run(fmt.Sprintf("fused=%v", fused), func(b *testing.B) {
			benchmark(b, world(b, 2, Options{}), 1<<10, func(c *Comm, v Vector) error {
				g := c.Group()
				for range 64 {
					if !fused {
						if err := c.AllReduce(context.Background(), v, v, Sum); err != nil {
							return err
						}
						continue
					}
					g.AllReduce(v, v, Sum)
				}
				return g.Run(context.Background())
			})
		})
	}
}
