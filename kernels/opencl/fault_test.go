package opencl_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	driver "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/gpu"
	"github.com/volley-go/volley/kernels/opencl"
	"github.com/volley-go/volley/memory"
)

// onFirst runs f with the first OpenCL device, if there is any: opencl_test.go
// says when none is a failure.
func onFirst(t *testing.T, f func(*driver.Device)) {
	t.Helper()
	if len(backends(t)) == 0 {
		return
	}
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	f(d)
}

// ramp is 0, 1, 2, … on the device.
func ramp(t *testing.T, s device.Stream, n int) *memory.Column {
	t.Helper()
	values := make([]kernels.Scalar, n)
	for i := range values {
		values[i] = kernels.Int64(int64(i))
	}
	host, err := kernels.FromScalars(memory.Heap, arrow.PrimitiveTypes.Int64, values)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	there, err := device.Move(t.Context(), s, s.Device().Memory(), host)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// sums runs a kernel of several launches and looks at what it gives.
func sums(ctx context.Context, b *kernels.Backend, s device.Stream, c *memory.Column) error {
	got, err := b.Reduce(ctx, s, kernels.Sum, c, kernels.AggregateOptions{})
	if err != nil {
		return err
	}
	defer got.Release()
	host, err := b.OnHost(ctx, s, got)
	if err != nil {
		return err
	}
	defer host.Release()
	if v, n := memory.Values[int64](host), c.Len(); v[0] != n*(n-1)/2 {
		return fmt.Errorf("the sum is %d", v[0])
	}
	return nil
}

// TestBuildFails spoils the text of every module: the error is the compiler's,
// and the next call compiles again.
func TestBuildFails(t *testing.T) {
	onFirst(t, func(d *driver.Device) {
		prelude, err := os.ReadFile("prelude.h")
		if err != nil {
			t.Fatal(err)
		}
		spoil, builds := "\nno_such_type x;\n", 0
		b := gpu.New(d, gpu.Dialect{Name: "opencl", Source: func(module string) (device.Source, error) {
			builds++
			text, err := gpu.Assemble(string(prelude), module)
			return device.Source{Name: module, Text: text + spoil}, err
		}})
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		c := ramp(t, s, 1000)
		defer c.Release()
		for i := range 2 {
			err := sums(t.Context(), b, s, c)
			if !errors.Is(err, device.ErrUnsupported) || !strings.Contains(err.Error(), "no_such_type") {
				t.Fatalf("a module that does not compile: %v", err)
			}
			if builds != i+1 {
				t.Errorf("%d builds in %d calls", builds, i+1)
			}
		}
		spoil = ""
		if err := sums(t.Context(), b, s, c); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// launches is a stream that calls a function after each launch.
type launches struct {
	device.Stream
	after func(name string)
}

func (l *launches) Launch(f device.Function, g device.Grid, args ...any) error {
	err := l.Stream.Launch(f, g, args...)
	l.after(f.Name())
	return err
}

// TestCanceledBetweenLaunches ends the context after the first, second, …
// launch of a sort: it stops there, and the same call works afterwards.
func TestCanceledBetweenLaunches(t *testing.T) {
	onFirst(t, func(d *driver.Device) {
		b := opencl.New(d)
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		c := ramp(t, s, 3000)
		defer c.Release()
		keys := []kernels.SortKey{{Values: c, Descending: true}}
		var names []string
		on := &launches{Stream: s, after: func(name string) { names = append(names, name) }}
		run := func(ctx context.Context) error {
			names = nil
			rows, err := b.SortIndices(ctx, on, keys)
			if err == nil {
				rows.Release()
			}
			return err
		}
		if err := run(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := len(names)
		if all < 3 {
			t.Fatalf("a sort of the launches %v", names)
		}
		for at := 1; at < all; at++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("the user left")
			on.after = func(name string) {
				if names = append(names, name); len(names) == at {
					cancel(why)
				}
			}
			err := run(ctx)
			if !errors.Is(err, device.ErrCanceled) || !errors.Is(err, why) {
				t.Errorf("after launch %d of %d: %v", at, all, err)
			}
			if len(names) != at {
				t.Errorf("after launch %d of %d there came %v", at, all, names[at:])
			}
			cancel(nil)
		}
		on.after = func(name string) { names = append(names, name) }
		if err := run(t.Context()); err != nil || len(names) != all {
			t.Errorf("afterwards: %v, %d launches of %d", err, len(names), all)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCyclesOfBackends opens and closes the device with its kernels 1,000
// times, with work in one of 50. No block may be left, and what the process holds
// in the end it held after the first tenth.
func TestCyclesOfBackends(t *testing.T) {
	if len(backends(t)) == 0 {
		return
	}
	var early int64
	for i := range 1000 {
		d, err := driver.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		counted := memory.NewCounted(d.Memory())
		b := opencl.New(devicetest.WithMemory(d, counted))
		if i%50 == 0 {
			s, err := b.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			c := ramp(t, s, 1000)
			if err := sums(t.Context(), b, s, c); err != nil {
				t.Fatal(err)
			}
			c.Release()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(b.Close(), counted.Check()); err != nil {
			t.Fatalf("cycle %d: %v", i, err)
		}
		if i == 100 {
			early = resident(t)
		}
	}
	if grown := resident(t) - early; grown > 64<<20 {
		t.Errorf("%d bytes more than after the first 100 cycles", grown)
	}
}

// resident is the memory that the process holds, without what Go may give back;
// 0 on systems that do not tell.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	content, err := os.ReadFile("/proc/self/statm")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(content), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
