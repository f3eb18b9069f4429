package ondevice

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

const limit = 60 * time.Second

// on runs f for every rank, each with a backend of its own.
func on(t *testing.T, ranks int, open func() *kernels.Backend, f func(d *Comm, c *collective.Comm) error) {
	t.Helper()
	onWith(t, ranks, collective.Options{Deadline: limit, Deterministic: true}, open, f)
}

func onWith(t *testing.T, ranks int, o collective.Options, open func() *kernels.Backend, f func(d *Comm, c *collective.Comm) error) {
	t.Helper()
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for r, e := range inproc.New(ranks) {
		all.Go(func() {
			errs[r] = func() (err error) {
				b := open()
				defer func() { err = errors.Join(err, b.Close()) }()
				c, err := collective.New(e, o)
				if err != nil {
					return err
				}
				defer c.Close()
				d, err := New(c, b)
				if err != nil {
					return err
				}
				return errors.Join(f(d, c), d.Close())
			}()
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("the ranks hang")
	}
	for r, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// put brings values to the device, behind three others.
func put[T collective.Number](d *Comm, values []T) (Vector, error) {
	t := collective.Of(make([]T, 1)).Type()
	w := int64(t.Width())
	b, err := memory.New(d.b.Device.Memory(), (int64(len(values))+3)*w)
	if err != nil {
		return Vector{}, err
	}
	near := memory.Wrap(bytesOf(values), nil)
	defer near.Release()
	v := Vector{Buffer: b, Type: t, Offset: 3, Len: int64(len(values))}
	if err := d.stream.Copy(b, 3*w, near, 0, near.Len()); err != nil {
		return v, err
	}
	return v, d.stream.Wait(context.Background())
}

func bytesOf[T collective.Number](values []T) []byte {
	b, err := memory.New(memory.Heap, int64(len(values))*int64(collective.Of(make([]T, 1)).Type().Width()))
	if err != nil {
		return nil
	}
	copy(memory.View[T](b), values)
	return b.Bytes()
}

// take brings a vector's values back and releases its buffer.
func take[T collective.Number](d *Comm, v Vector) ([]T, error) {
	defer v.Buffer.Release()
	w := int64(v.Type.Width())
	near, err := memory.New(memory.Heap, v.Len*w)
	if err != nil {
		return nil, err
	}
	if err := d.stream.Copy(near, 0, v.Buffer, v.Offset*w, v.Len*w); err != nil {
		return nil, err
	}
	if err := d.stream.Wait(context.Background()); err != nil {
		return nil, err
	}
	return slices.Clone(memory.View[T](near)), nil
}

func values[T collective.Number](rank, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = T((rank*31+i*7)%23) / 3
	}
	return v
}

// operations are the reductions that devices may have.
var operations = []collective.Op{collective.Sum, collective.Prod, collective.Min, collective.Max, collective.Avg, collective.Xor}

// reductions compares the device's with the host's deterministic ones, bit for bit.
func reductions[T collective.Number](d *Comm, c *collective.Comm) error {
	ctx, rank, size := context.Background(), c.Rank(), int64(c.Size())
	for _, n := range []int64{0, 1, 5, 1000} {
		for _, op := range operations {
			if op.String() == collective.Xor.String() && T(1)/T(2) != 0 {
				continue // not of floats
			}
			for _, call := range []struct {
				name    string
				in, out int64
				inPlace bool
				host    func(in, out collective.Vector) error
				device  func(in, out Vector) error
			}{
				{"AllReduce", n, n, true, func(i, o collective.Vector) error { return c.AllReduce(ctx, i, o, op) }, func(i, o Vector) error { return d.AllReduce(ctx, i, o, op) }},
				{"Reduce", n, n, false, func(i, o collective.Vector) error { return c.Reduce(ctx, i, o, op, int(size-1)) }, func(i, o Vector) error { return d.Reduce(ctx, i, o, op, int(size-1)) }},
				{"ReduceScatter", n * size, n, false, func(i, o collective.Vector) error { return c.ReduceScatter(ctx, i, o, op) }, func(i, o Vector) error { return d.ReduceScatter(ctx, i, o, op) }},
			} {
				in, want := values[T](rank, int(call.in)), make([]T, call.out)
				if err := call.host(collective.Of(in), collective.Of(want)); err != nil {
					return err
				}
				from, err := put(d, in)
				if err != nil {
					return err
				}
				to := from
				if !call.inPlace {
					if to, err = put(d, make([]T, call.out)); err != nil {
						return err
					}
				}
				if err := call.device(from, to); err != nil {
					return fmt.Errorf("%s, %s of %d: %w", call.name, op, n, err)
				}
				if !call.inPlace {
					from.Buffer.Release()
				}
				got, err := take[T](d, to)
				if err != nil || !slices.Equal(got, want) {
					return fmt.Errorf("%s, %s of %d: %v, want %v, %w", call.name, op, n, got, want, err)
				}
			}
		}
	}
	return nil
}

// particular are NaNs, and a user's reduction with a known name.
func particular(d *Comm, c *collective.Comm) error {
	ctx, nan := context.Background(), math.NaN()
	for _, op := range []collective.Op{collective.Min, collective.Max} {
		own := []float64{1, 2, nan, float64(c.Rank())}
		if c.Rank() == c.Size()-1 {
			own[1] = nan
		}
		v, err := put(d, own)
		if err != nil {
			return err
		}
		if err := d.AllReduce(ctx, v, v, op); err != nil {
			return err
		}
		last := 0.0
		if op.String() == collective.Max.String() {
			last = float64(c.Size() - 1)
		}
		got, err := take[float64](d, v)
		if err != nil || got[0] != 1 || !math.IsNaN(got[1]) || !math.IsNaN(got[2]) || got[3] != last {
			return fmt.Errorf("%s with NaN gives %v, %w", op, got, err)
		}
	}
	v, err := put(d, []int64{int64(c.Rank()) + 1})
	if err != nil {
		return err
	}
	if err := d.AllReduce(ctx, v, v, collective.NewOp("sum", true, func(a, b int64) int64 { return 10 * max(a, b) })); err != nil {
		return err
	}
	if got, err := take[int64](d, v); err != nil || c.Size() == 2 && got[0] != 20 || c.Size() > 1 && got[0] < 20 {
		return fmt.Errorf("a user's reduction called sum gives %v, %w", got, err)
	}
	return nil
}

func everything(d *Comm, c *collective.Comm) error {
	if err := errors.Join(reductions[float32](d, c), reductions[int32](d, c), reductions[uint8](d, c), reductions[int16](d, c), reductions[float64](d, c), particular(d, c)); err != nil {
		return err
	}
	ctx, rank, size := context.Background(), c.Rank(), c.Size()
	const n = 50
	var want, turned []int64
	for r := range size {
		want = append(want, values[int64](r, n)...)
		turned = append(turned, values[int64](r, n*size)[rank*n:(rank+1)*n]...)
	}
	for _, call := range []struct {
		name      string
		in        []int64
		out       int
		want      []int64
		operation func(in, out Vector) error
	}{
		{"AllGather", values[int64](rank, n), size * n, want, func(in, out Vector) error { return d.AllGather(ctx, in, out) }},
		{"AllToAll", values[int64](rank, n*size), size * n, turned, func(in, out Vector) error { return d.AllToAll(ctx, in, out) }},
		{"Broadcast", values[int64](rank, n), n, values[int64](1, n), func(in, out Vector) error { return d.Broadcast(ctx, in, out, 1) }},
		{"Gather", values[int64](rank, n), size * n, map[bool][]int64{true: want}[rank == 1], func(in, out Vector) error { return d.Gather(ctx, in, out, 1) }},
		{"Scatter", want, n, values[int64](rank, n), func(in, out Vector) error { return d.Scatter(ctx, in, out, 1) }},
		{"Send", values[int64](rank, n), n, map[bool][]int64{true: values[int64](1, n)}[rank == 0], func(in, out Vector) error {
			switch rank {
			case 0:
				return d.Recv(ctx, out, 1)
			case 1:
				return d.Send(ctx, in, 0)
			}
			return nil
		}},
	} {
		in, err := put(d, call.in)
		if err != nil {
			return err
		}
		out, err := put(d, make([]int64, call.out))
		if err != nil {
			return err
		}
		if err := call.operation(in, out); err != nil {
			return fmt.Errorf("%s: %w", call.name, err)
		}
		in.Buffer.Release()
		got, err := take[int64](d, out)
		if err != nil || call.want != nil && !slices.Equal(got, call.want) {
			return fmt.Errorf("%s gives %v, want %v, %w", call.name, got, call.want, err)
		}
	}
	return started(d, c)
}

// remote is a backend whose memory the host cannot read.
func remote() *kernels.Backend {
	return kerneltest.Remote(memory.Place{Type: memory.OpenCL, ID: 7}, cpu.Generic())
}

func TestRemote(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		var mu sync.Mutex
		var devices []*devicetest.Remote
		on(t, ranks, func() *kernels.Backend {
			b := remote()
			mu.Lock()
			defer mu.Unlock()
			devices = append(devices, b.Device.(*devicetest.Remote))
			return b
		}, func(d *Comm, c *collective.Comm) error {
			if text := d.Explain(collective.Float32, collective.Sum); !strings.Contains(text, "by its kernels") {
				return errors.New(text)
			}
			if text := d.Explain(collective.Float32, collective.Xor); !strings.Contains(text, "on the host") {
				return errors.New(text)
			}
			if c.Size() == 1 {
				return errors.Join(reductions[float32](d, c), started(d, c))
			}
			return everything(d, c)
		})
		for r, d := range devices {
			if d.InUse() != 0 {
				t.Errorf("rank %d of %d leaves %d bytes", r, ranks, d.InUse())
			}
		}
	}
}

// The backend of VOLLEY_BACKEND; the CPU's memory is used where it lies.
func TestBackend(t *testing.T) {
	on(t, 3, func() *kernels.Backend {
		return backends.Open(t, func(a memory.Allocator) memory.Allocator { return a })
	}, everything)
}

func TestRefuses(t *testing.T) {
	on(t, 1, remote, func(d *Comm, _ *collective.Comm) error {
		v, err := put(d, values[int32](0, 9))
		if err != nil {
			return err
		}
		defer v.Buffer.Release()
		past, other := v, v
		past.Len++
		other.Type = collective.Float32
		for _, w := range []Vector{past, other, {}} {
			if err := d.AllReduce(context.Background(), v, w, collective.Sum); !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("%+v: %w", w, err)
			}
		}
		return nil
	})
}
