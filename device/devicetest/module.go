package devicetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Kernels are the functions that Run launches, for a device that takes host
// functions:
//
//	ordinals(out) sets int64 number n of out to n, for n = the number of a
//	              work-item in the grid, counted with dimension 0 fastest
//	twice(out)    doubles int64 number n of out
func Kernels() device.Source {
	return device.Source{Name: "devicetest", Host: map[string]device.HostFunction{
		"ordinals": eachItem(func(n int64, _ int64) int64 { return n }),
		"twice":    eachItem(func(_ int64, v int64) int64 { return 2 * v }),
	}}
}

// eachItem makes a host function that changes one int64 for each work-item.
func eachItem(f func(n, v int64) int64) device.HostFunction {
	return func(_ context.Context, g device.Group, args []any) error {
		if len(args) != 1 {
			return fmt.Errorf("%w: %d arguments", device.ErrMismatch, len(args))
		}
		out, ok := args[0].(*memory.Buffer)
		if !ok {
			return fmt.Errorf("%w: argument 0 is a %T", device.ErrMismatch, args[0])
		}
		values := out.Bytes()
		sizes, extent := g.Grid.Items, [3]int64{}
		for d := range extent {
			extent[d] = g.Grid.Groups[d] * int64(sizes[d])
		}
		for z := range int64(sizes[2]) {
			for y := range int64(sizes[1]) {
				for x := range int64(sizes[0]) {
					at := [3]int64{g.ID[0]*int64(sizes[0]) + x, g.ID[1]*int64(sizes[1]) + y, g.ID[2]*int64(sizes[2]) + z}
					n := at[0] + extent[0]*(at[1]+extent[1]*at[2])
					v := values[8*n : 8*n+8]
					binary.NativeEndian.PutUint64(v, uint64(f(n, int64(binary.NativeEndian.Uint64(v)))))
				}
			}
		}
		return nil
	}
}

func (b *bench) function(name string) device.Function {
	b.Helper()
	m, err := b.d.LoadModule(context.Background(), b.kernels)
	b.must(err)
	f, err := m.Function(name)
	b.must(err)
	return f
}

func testLaunch(b *bench) {
	s := b.stream()
	ordinals, twice := b.function("ordinals"), b.function("twice")
	if ordinals.Name() != "ordinals" || ordinals.Device() != b.d {
		b.Fatalf("%s on %s", ordinals.Name(), ordinals.Device().Name())
	}
	for _, grid := range []device.Grid{
		{}, // one group of one item
		{Groups: [3]int64{1000}, Items: [3]int{32}},
		{Groups: [3]int64{5, 7, 3}, Items: [3]int{4, 2, 3}},
		{Groups: [3]int64{1, 1, 9}},
	} {
		n := int64(1)
		for d := range 3 {
			n *= max(1, grid.Groups[d]) * int64(max(1, grid.Items[d]))
		}
		out := b.device(s, make([]byte, 8*n))
		b.must(s.Launch(ordinals, grid, out))
		b.must(s.Launch(twice, grid, out))
		got := b.read(s, out)
		for i := range n {
			if v := binary.NativeEndian.Uint64(got[8*i:]); v != uint64(2*i) {
				b.Fatalf("grid %v: item %d is %d", grid, i, v)
			}
		}
		out.Release()
	}
}

// testLaunchOrder launches between copies, with the argument freed by its
// owner before the launch runs.
func testLaunchOrder(b *bench) {
	s := b.stream()
	twice := b.function("twice")
	one := make([]byte, 8)
	binary.NativeEndian.PutUint64(one, 1)
	x, h := b.device(s, one), b.host(make([]byte, 8))
	g := b.gate(s)
	for range 10 {
		b.must(s.Launch(twice, device.Grid{}, x))
	}
	b.must(s.Copy(h, 0, x, 0, 8))
	b.must(s.Launch(twice, device.Grid{}, x))
	x.Release()
	<-g.entered
	close(g.open)
	b.must(b.wait(s))
	if v := binary.NativeEndian.Uint64(h.Bytes()); v != 1024 {
		b.Fatalf("the copy saw %d", v)
	}
	h.Release()
}

func testLaunchRefuses(b *bench) {
	s := b.stream()
	f := b.function("twice")
	x := b.device(s, make([]byte, 8))
	for _, grid := range []device.Grid{
		{Groups: [3]int64{-1}}, {Items: [3]int{0, -1}}, {Local: -1}, {Groups: [3]int64{1 << 40, 1 << 40, 1 << 40}},
	} {
		b.is(s.Launch(f, grid, x), device.ErrMismatch, fmt.Sprint(grid))
	}
	b.is(s.Launch(nil, device.Grid{}, x), device.ErrMismatch, "launch of nothing")
	d := b.open()
	other, err := d.NewStream()
	b.must(err)
	b.is(other.Launch(f, device.Grid{}, x), device.ErrMismatch, "launch of another device's function")
	b.must(d.Close())
	b.must(b.wait(s)) // refused launches do the stream no harm
	x.Release()
}

func testModules(b *bench) {
	_, err := b.d.LoadModule(context.Background(), device.Source{Name: "empty"})
	b.is(err, device.ErrUnsupported, "a source in no form")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = b.d.LoadModule(ended, b.kernels)
	b.is(err, device.ErrCanceled, "a load whose context ended")
	m, err := b.d.LoadModule(context.Background(), b.kernels)
	b.must(err)
	_, err = m.Function("nowhere")
	b.is(err, device.ErrUnavailable, "a function that is not there")
	var e *device.Error
	if !errors.As(err, &e) || e.Device != b.d.Name() || !strings.Contains(err.Error(), "nowhere") {
		b.Fatalf("the error does not name the function: %v", err)
	}
	f, err := m.Function("twice")
	b.must(err)
	b.must(m.Close())
	b.must(m.Close())
	_, err = m.Function("twice")
	b.is(err, device.ErrClosed, "a function of a closed module")
	s := b.stream()
	b.is(s.Launch(f, device.Grid{}), device.ErrClosed, "a launch of a closed module's function")
	b.must(b.wait(s))
}
