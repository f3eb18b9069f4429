package ondevice

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
	cudadevice "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/internal/ncclemu"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cuda"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("VOLLEY_CUDA_LIBRARY") == "" && cuemu.Missing() == "" {
		for name, value := range map[string]string{"CUEMU_DEVICES": "4", "CUEMU_MEMORY": "67108864"} {
			if err := os.Setenv(name, value); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		if err := ncclemu.Start(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return cuemu.Run(m)
}

// gpus opens one GPU after another, at most n; nil where there are none.
func gpus(t *testing.T) (open func() *kernels.Backend, n int) {
	t.Helper()
	if !dl.Available || cuemu.Missing() != "" && os.Getenv("VOLLEY_CUDA_LIBRARY") == "" {
		t.Log("neither CUDA nor the emulated driver here: " + cuemu.Missing())
		return nil, 0
	}
	infos, err := cudadevice.List()
	if err != nil {
		t.Fatal(err)
	}
	var next atomic.Int32
	return func() *kernels.Backend {
		d, err := cudadevice.Open(int(next.Add(1)-1) % len(infos))
		if err != nil {
			t.Error(err)
			return remote()
		}
		return cuda.New(d)
	}, min(len(infos), 4)
}

// Through the host, staged and by the kernels.
func TestCUDA(t *testing.T) {
	if open, most := gpus(t); most > 0 {
		on(t, 3, open, everything)
	}
}

// Everything over NCCL is what it is over the host: the Comms are deterministic, so that
// sums of floats are folded by the kernels.
func TestNCCL(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 4} {
		open, most := gpus(t)
		if ranks > most {
			t.Logf("%d GPUs", most)
			return
		}
		on(t, ranks, open, func(d *Comm, c *collective.Comm) error {
			if err := d.UseNCCL(t.Context()); err != nil {
				return err
			}
			for op, says := range map[string]string{"sum": "by NCCL", "min": "by NCCL", "xor": "on the host"} {
				if text := d.Explain(collective.Int32, operations[slices.IndexFunc(operations, func(o collective.Op) bool { return o.String() == op })]); !strings.Contains(text, says) {
					return errors.New(text)
				}
			}
			if text := d.Explain(collective.Float32, collective.Sum); !strings.Contains(text, "by its kernels, carried by NCCL") {
				return errors.New(text)
			}
			if c.Size() == 1 {
				return reductions[int32](d, c)
			}
			return everything(d, c)
		})
	}
}

// Without Deterministic floats are summed by NCCL, halves too.
func TestNCCLFloats(t *testing.T) {
	open, most := gpus(t)
	if most < 2 {
		return
	}
	onWith(t, 2, collective.Options{Deadline: limit}, open, func(d *Comm, c *collective.Comm) error {
		if err := d.UseNCCL(t.Context()); err != nil {
			return err
		}
		if err := d.UseNCCL(t.Context()); !errors.Is(err, device.ErrMismatch) {
			return fmt.Errorf("NCCL twice: %v", err)
		}
		before, err := ncclemu.Calls()
		real := errors.Is(err, ncclemu.ErrReal)
		if err != nil && !real {
			return err
		}
		if err := errors.Join(reductions[float32](d, c), reductions[float64](d, c)); err != nil {
			return err
		}
		if after, err := ncclemu.Calls(); err == nil && after-before < 2*3*4*3 {
			return fmt.Errorf("NCCL was called %d times", after-before)
		}
		v, err := put(d, []uint16{0x3c00, 0x4200}) // 1 and 3
		if err != nil {
			return err
		}
		v.Type = collective.Float16
		if err := errors.Join(d.AllReduce(t.Context(), v, v, collective.Sum), d.AllReduce(t.Context(), v, v, collective.Avg)); err != nil {
			return err
		}
		v.Type = collective.Uint16
		if got, err := take[uint16](d, v); err != nil || !slices.Equal(got, []uint16{0x4000, 0x4600}) {
			return fmt.Errorf("halves: %x, %w", got, err)
		}
		return nil
	})
}

// Where a rank has no NCCL, all are told so, and the Comm goes on without.
func TestWithoutNCCL(t *testing.T) {
	open, most := gpus(t)
	if most == 0 {
		return
	}
	var n atomic.Int32
	on(t, 2, func() *kernels.Backend {
		if n.Add(1) == 1 {
			return remote()
		}
		return open()
	}, func(d *Comm, c *collective.Comm) error {
		err := d.UseNCCL(t.Context())
		if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), "is no GPU of CUDA") {
			return fmt.Errorf("with a rank without a GPU: %v", err)
		}
		return reductions[int32](d, c)
	})
}

// A rank that makes another call, that is gone, and that cancels: all get one Fault.
func TestNCCLFaults(t *testing.T) {
	for _, what := range []string{"mismatch", "gone", "canceled"} {
		open, most := gpus(t)
		if most < 3 {
			return
		}
		faults := make([]error, 3)
		onWith(t, 3, collective.Options{Deadline: limit}, open, func(d *Comm, c *collective.Comm) error {
			if err := d.UseNCCL(t.Context()); err != nil {
				return err
			}
			v, err := put(d, make([]int32, 30))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			if err := d.AllReduce(t.Context(), v, v, collective.Sum); err != nil {
				return err
			}
			switch {
			case c.Rank() != 1:
				faults[c.Rank()] = d.AllReduce(t.Context(), v, v, collective.Sum)
			case what == "mismatch":
				faults[1] = d.AllReduce(t.Context(), v, v, collective.Max)
			case what == "gone":
				// It agrees, as one that dies in NCCL's kernel does.
				if err := c.Agree(t.Context(), "AllReduce of 30 int32, sum"); err != nil {
					return err
				}
				d.direct.Abort()
				return c.Close()
			case what == "canceled":
				if err := c.Agree(t.Context(), "AllReduce of 30 int32, sum"); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				faults[1] = d.beside(ctx, "AllReduce", func() error { return nil }, func(ctx context.Context) error {
					<-ctx.Done()
					return ctx.Err()
				})
			}
			return nil
		})
		cause := map[string]collective.Cause{"mismatch": collective.Mismatch, "gone": collective.Lost, "canceled": collective.Canceled}[what]
		var first *collective.Fault
		for r, err := range faults {
			if what == "gone" && r == 1 {
				continue
			}
			var f *collective.Fault
			if !errors.As(err, &f) || f.Cause != cause || !slices.Contains(f.Ranks, 1) || first != nil && f.Error() != first.Error() {
				t.Errorf("%s: rank %d: %v", what, r, err)
			}
			first = f
		}
	}
}

// Counts and lengths that do not meet are found before NCCL hears of the call.
func TestNCCLCountsDiffer(t *testing.T) {
	for name, call := range map[string]func(d *Comm, v Vector) error{
		"AllToAllV": func(d *Comm, v Vector) error {
			recvs := []int64{2, 2}
			if d.c.Rank() == 1 {
				recvs = []int64{1, 3}
			}
			return d.AllToAllV(t.Context(), v, v, []int64{2, 2}, recvs)
		},
		"Send": func(d *Comm, v Vector) error {
			if d.c.Rank() == 1 {
				v.Len = 3
				return d.RecvAsync(t.Context(), v, 0).Wait(t.Context())
			}
			// A send may be done before the receiver has looked at its length.
			return errors.Join(d.Send(t.Context(), v, 1), d.Barrier(t.Context()))
		},
	} {
		open, most := gpus(t)
		if most < 2 {
			return
		}
		errs := endings(t, inproc.New(2), open, func(e ending) error {
			if err := e.d.UseNCCL(t.Context()); err != nil {
				return err
			}
			v, err := put(e.d, make([]int64, 4))
			if err != nil {
				return err
			}
			defer v.Buffer.Release()
			return call(e.d, v)
		})
		t.Log(name, errs)
		agreed(t, errs, []int{0, 1}, collective.Mismatch, 0, 1)
	}
}
