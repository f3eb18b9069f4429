package cuda

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/memory"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is holds an error against its kind and what its text has to say.
func is(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("got %v, want: %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("%q is not in: %v", w, err)
		}
	}
}

func newStream(t *testing.T, d *Device) device.Stream {
	t.Helper()
	s, err := d.NewStream()
	must(t, err)
	return s
}

func onDevice(t *testing.T, d *Device, n int64) *memory.Buffer {
	t.Helper()
	b, err := memory.New(d.Memory(), n)
	must(t, err)
	return b
}

func kernel(t *testing.T, d *Device, name string) device.Function {
	t.Helper()
	m, err := d.LoadModule(t.Context(), fakeSource())
	must(t, err)
	f, err := m.Function(name)
	must(t, err)
	return f
}

func wait(t *testing.T, s device.Stream) error {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return s.Wait(ctx)
}

func TestDriverMissing(t *testing.T) {
	const path = "/nonexistent/libcuda-none.so.1"
	_, err := Open(0, WithLibrary(path))
	words := []string{"no CUDA driver here", path}
	if !dl.Available {
		words = append(words, dl.NotBuilt)
	}
	is(t, err, device.ErrUnavailable, words...)
	found, err := List(WithLibrary(path))
	is(t, err, device.ErrUnavailable, words...)
	if found != nil {
		t.Fatalf("found %v", found)
	}
}

// TestDriverWithoutSymbols takes a library that is no driver at all.
func TestDriverWithoutSymbols(t *testing.T) {
	if !dl.Available {
		return // there is no library to take: TestDriverMissing sees to that
	}
	name := map[string]string{"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib", "windows": "msvcrt.dll"}[runtime.GOOS]
	_, err := Open(0, WithLibrary(name))
	is(t, err, device.ErrUnavailable, name, "has no", "cuInit", "cuLaunchKernel")
}

func TestDriverTooOld(t *testing.T) {
	f := newFake(t)
	f.drv.version = func() (int, code) { return 10020, success }
	_, err := newLibrary(f.drv)
	is(t, err, device.ErrUnavailable, "CUDA 10.2", "CUDA 11.0 or later is needed")
	if f.called("cuInit") != 0 {
		t.Error("a driver that will not do was initialised")
	}
}

func TestDriverDoesNotStart(t *testing.T) {
	f := newFake(t)
	f.drv.init = func() code { return 803 }
	_, err := newLibrary(f.drv)
	is(t, err, device.ErrUnavailable, "cuInit", "803")
}

func TestNoDevice(t *testing.T) {
	f := newFake(t)
	f.gpus = 0
	l := f.library()
	_, err := l.open(0, collect(nil))
	is(t, err, device.ErrUnavailable, "finds no CUDA device")
	_, err = l.list()
	is(t, err, device.ErrUnavailable, "finds no CUDA device")
	f.gpus = 2
	_, err = l.open(2, collect(nil))
	is(t, err, device.ErrUnavailable, "cuda:2", "there are 2 CUDA devices")
	found, err := l.list()
	must(t, err)
	if len(found) != 2 || found[1].Name != "cuda:1" || found[1].Tier != "sm_90" || found[1].Driver != "CUDA 12.9" || found[1].LocalMemory != 48<<10 {
		t.Fatalf("%+v", found)
	}
}

// TestOpenFails gives everything back when any step of Open fails.
func TestOpenFails(t *testing.T) {
	for _, call := range []string{"cuDevicePrimaryCtxRetain", "cuCtxPushCurrent", "cuStreamCreate", "cuMemPoolCreate", "cuMemPoolSetAttribute"} {
		f := newFake(t)
		l := f.library()
		f.failOn(func(c string) code {
			if c == call {
				return errorOutOfMemory
			}
			return success
		})
		_, err := l.open(0, collect(nil))
		is(t, err, device.ErrOutOfMemory)
	}
}

func TestOrdinal(t *testing.T) {
	for name, want := range map[string]int{"cuda": 0, "cuda:0": 0, "cuda:17": 17} {
		if n, err := Ordinal(name); n != want || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	for _, name := range []string{"cuda:", "cuda:-1", "cuda:01", "cuda:x", "cpu", "cuda1"} {
		_, err := Ordinal(name)
		is(t, err, device.ErrUnavailable, name)
	}
}

// TestOutOfMemory says what was asked for and what there was, and goes on.
func TestOutOfMemory(t *testing.T) {
	for name, change := range map[string]func(*fake){"pool": func(*fake) {}, "without pool": (*fake).withoutLater} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.capacity = 1 << 20
			change(f)
			d := f.open()
			defer d.Close()
			a := onDevice(t, d, 600<<10)
			_, err := memory.New(d.Memory(), 500<<10)
			is(t, err, device.ErrOutOfMemory, "cuda:0", "512000 bytes requested", "434176 free")
			var oom *memory.OutOfMemory
			if !errors.As(err, &oom) || oom.Requested != 500<<10 || oom.Limit-oom.InUse != 424<<10 {
				t.Fatalf("%+v", oom)
			}
			_, err = memory.New(d.Memory(), 2<<20) // more than there is at all
			is(t, err, device.ErrOutOfMemory, "2097152 bytes requested", "434176 free")
			a.Release()
			onDevice(t, d, 900<<10).Release()
			must(t, wait(t, newStream(t, d)))
		})
	}
}

// TestOutOfMemoryWaits gives memory that queued work still holds to whoever
// needs it, once the work is done.
func TestOutOfMemoryWaits(t *testing.T) {
	f := newFake(t)
	f.capacity = 1 << 20
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	f.set(func() { f.held = true })
	a := onDevice(t, d, 700<<10)
	must(t, s.Fill(a, 0, a.Len(), 1))
	a.Release()
	time.AfterFunc(20*time.Millisecond, func() {
		f.mu.Lock()
		f.held = false
		f.mu.Unlock()
	})
	onDevice(t, d, 700<<10).Release()
	must(t, wait(t, s))
}

func TestMemoryLimit(t *testing.T) {
	f := newFake(t)
	d, err := f.library().open(0, collect([]Option{WithMemoryLimit(1000)}))
	must(t, err)
	defer d.Close()
	a := onDevice(t, d, 500)
	_, err = memory.New(d.Memory(), 500)
	is(t, err, device.ErrOutOfMemory, "500 bytes requested")
	a.Release()
	onDevice(t, d, 900).Release()
}

// TestLost loses the GPU in a launch: everything later on it fails with the
// first error, which names the launch; the other GPU goes on; closed and opened
// again it works where the driver lets it.
func TestLost(t *testing.T) {
	f := newFake(t)
	l := f.library()
	d, err := l.open(0, collect(nil))
	must(t, err)
	other, err := l.open(1, collect(nil))
	must(t, err)
	twin, err := l.open(0, collect(nil))
	must(t, err)
	s, s2 := newStream(t, d), newStream(t, d)
	e, err := d.NewEvent()
	must(t, err)
	must(t, s2.Record(e))
	f1, f2 := kernel(t, d, "ordinals"), kernel(t, d, "twice")
	b := onDevice(t, d, 80)
	h, err := memory.New(d.Pinned(), 80)
	must(t, err)
	must(t, s.Launch(f1, device.Grid{Groups: [3]int64{10}}, b))
	must(t, wait(t, s))

	f.failOn(func(call string) code {
		if call == "cuLaunchKernel twice" {
			f.lost = 700
			return 700
		}
		return success
	})
	first := s.Launch(f2, device.Grid{Groups: [3]int64{10}}, b)
	is(t, first, device.ErrLost, "cuda:0", "twice", "700")
	for i, call := range []func() error{
		func() error { return wait(t, s) },
		func() error { return wait(t, s2) },
		func() error { return s2.Copy(h, 0, b, 0, 80) },
		func() error { return s2.Fill(b, 0, 80, 1) },
		func() error { return s2.Launch(f1, device.Grid{}, b) },
		func() error { return s2.Call("host", func() error { t.Error("a call ran"); return nil }) },
		func() error { return s2.Record(e) },
		func() error { return e.Wait(t.Context()) },
		func() error { _, err := e.Done(); return err },
		func() error { _, err := d.NewStream(); return err },
		func() error { _, err := d.NewEvent(); return err },
		func() error { _, err := d.LoadModule(t.Context(), fakeSource()); return err },
		func() error { _, err := d.Memory().Allocate(8); return err },
		func() error { _, err := d.Pinned().Allocate(8); return err },
		func() error { _, err := d.Register(make([]byte, 8), nil); return err },
		func() error { _, err := twin.NewStream(); return err },
		func() error { _, err := l.open(0, collect(nil)); return err },
	} {
		err := call()
		is(t, err, device.ErrLost, "twice")
		var e1, e2 *device.Error
		if !errors.As(err, &e1) || !errors.As(first, &e2) || e1 != e2 {
			t.Errorf("call %d gives another error: %v", i, err)
		}
	}
	f.mu.Lock()
	f.lost, f.fault = 0, nil // the driver answers for the other GPU
	f.mu.Unlock()
	so := newStream(t, other)
	bo := onDevice(t, other, 8)
	must(t, so.Fill(bo, 0, 8, 1))
	must(t, wait(t, so))
	bo.Release()
	must(t, other.Close())

	b.Release()
	h.Release()
	must(t, d.Close())
	must(t, d.Close())
	_, err = d.NewStream()
	is(t, err, device.ErrClosed)
	must(t, twin.Close())
	again, err := l.open(0, collect(nil))
	must(t, err)
	must(t, wait(t, newStream(t, again)))
	must(t, again.Close())
}

// TestLostLater finds the loss by a wait: the launches in flight are named.
func TestLostLater(t *testing.T) {
	for _, launches := range [][]string{{"twice"}, {"ordinals", "twice", "ordinals"}} {
		f := newFake(t)
		d := f.open()
		s := newStream(t, d)
		b := onDevice(t, d, 8)
		f.set(func() { f.held = true })
		for _, name := range launches {
			must(t, s.Launch(kernel(t, d, name), device.Grid{}, b))
		}
		f.mu.Lock()
		f.lost = 719
		f.mu.Unlock()
		err := wait(t, s)
		is(t, err, device.ErrLost, launches[0], "719")
		var e *device.Error
		if !errors.As(err, &e) || e.Call != launches[0] {
			t.Fatalf("%+v", e)
		}
		if len(launches) > 1 {
			is(t, err, device.ErrLost, "ordinals, twice, ordinals")
		}
		b.Release()
		must(t, d.Close())
	}
}

// TestLostBlockingLater finds it by a wait, on another goroutine than the launch perhaps: the last launch is named.
func TestLostBlockingLater(t *testing.T) {
	t.Setenv("CUDA_LAUNCH_BLOCKING", "1")
	f := newFake(t)
	d := f.open()
	s := newStream(t, d)
	b := onDevice(t, d, 8)
	f.set(func() { f.held = true })
	for _, name := range []string{"ordinals", "twice"} {
		must(t, s.Launch(kernel(t, d, name), device.Grid{}, b))
	}
	f.mu.Lock()
	f.lost = 719
	f.mu.Unlock()
	err := wait(t, s)
	is(t, err, device.ErrLost, "cuda:0: twice: ", "found by wait")
	if strings.Contains(err.Error(), "ordinals") {
		t.Error(err)
	}
	b.Release()
	must(t, d.Close())
}

// TestLostBlocking names the launch that a driver which waits for each finds.
func TestLostBlocking(t *testing.T) {
	t.Setenv("CUDA_LAUNCH_BLOCKING", "1")
	f := newFake(t)
	d := f.open()
	s := newStream(t, d)
	b := onDevice(t, d, 8)
	must(t, s.Launch(kernel(t, d, "ordinals"), device.Grid{}, b))
	f.failOn(func(call string) code {
		if call == "cuLaunchKernel twice" {
			f.lost = 700
		}
		return f.lost
	})
	err := s.Launch(kernel(t, d, "twice"), device.Grid{}, b)
	is(t, err, device.ErrLost, "cuda:0: twice: ")
	if strings.Contains(err.Error(), "ordinals") {
		t.Error(err)
	}
	b.Release()
	must(t, d.Close())
}

// TestFreeMemory counts what is kept for reuse as free.
func TestFreeMemory(t *testing.T) {
	for name, change := range map[string]func(*fake){"pool": func(f *fake) { f.used, f.kept = 300, 300 }, "without pool": (*fake).withoutLater} {
		f := newFake(t)
		change(f)
		d := f.open()
		b, c := onDevice(t, d, 64), onDevice(t, d, 1024)
		b.Release()
		if free := d.Info().MemoryFree; free != f.capacity-1024 {
			t.Errorf("%s: %d bytes are free of %d", name, free, f.capacity)
		}
		c.Release()
		must(t, d.Close())
		if free := d.Info().MemoryFree; free != 0 {
			time.Sleep(2 * infoFreshness)
			if free := d.Info().MemoryFree; free != 0 {
				t.Errorf("%s: %d bytes are free on a closed device", name, free)
			}
		}
	}
}

// TestLaunchFails is a failure that is not the device's end: it is the stream's alone.
func TestLaunchFails(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s, other := newStream(t, d), newStream(t, d)
	b := onDevice(t, d, 8)
	defer b.Release()
	fn := kernel(t, d, "twice")
	f.failOn(func(call string) code {
		if call == "cuLaunchKernel twice" {
			return 701
		}
		return success
	})
	_ = s.Launch(fn, device.Grid{}, b)
	is(t, wait(t, s), device.ErrMismatch, "twice", "701")
	f.mu.Lock()
	f.fault = nil
	f.mu.Unlock()
	is(t, s.Fill(b, 0, 8, 0), device.ErrMismatch, "twice")
	must(t, other.Launch(fn, device.Grid{}, b))
	must(t, wait(t, other))
}

func TestModuleDoesNotLoad(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	for c, kind := range map[code]error{218: device.ErrUnsupported, 222: device.ErrUnsupported, errorOutOfMemory: device.ErrOutOfMemory, errorInvalidValue: device.ErrUnsupported} {
		f.log = "ptxas application ptx input, line 7; error : Unknown modifier '.f33'"
		f.failOn(func(call string) code {
			if call == "cuModuleLoadDataEx" {
				return c
			}
			return success
		})
		_, err := d.LoadModule(t.Context(), device.Source{Name: "mine", Image: []byte(fakePTX)})
		is(t, err, kind, "cuda:0", "mine", "line 7; error : Unknown modifier '.f33'")
	}
	f.set(func() { f.fault = nil })
	_, err := d.LoadModule(t.Context(), device.Source{Name: "odd", Image: []byte(".version 8.0\n.entry f(.param .texref t)")})
	is(t, err, device.ErrUnsupported, "parameter 0 of f")
}

// TestCancelBetweenLaunches ends a wait in the middle of a row of launches: the
// caller goes on at once, and so does the GPU.
func TestCancelBetweenLaunches(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	b := onDevice(t, d, 8)
	defer b.Release()
	fn := kernel(t, d, "twice")
	f.set(func() { f.held = true })
	must(t, s.Launch(fn, device.Grid{}, b))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	time.AfterFunc(5*time.Millisecond, func() { cancel(why) })
	err := s.Wait(ctx) // which would never return if it waited for the GPU
	is(t, err, device.ErrCanceled)
	is(t, err, why)
	must(t, s.Launch(fn, device.Grid{}, b))
	f.mu.Lock()
	f.held = false
	f.mu.Unlock()
	must(t, wait(t, s))
	if n := f.called("cuLaunchKernel twice"); n != 2 {
		t.Errorf("%d launches", n)
	}
}

// TestCycles opens and closes 10,000 of each; the fake counts what is left, and
// so does the runtime.
func TestCycles(t *testing.T) {
	f := newFake(t)
	l := f.library()
	before := runtime.NumGoroutine()
	d, err := l.open(0, collect(nil))
	must(t, err)
	for range 10000 {
		s := newStream(t, d)
		e, err := d.NewEvent()
		must(t, err)
		m, err := d.LoadModule(t.Context(), fakeSource())
		must(t, err)
		fn, err := m.Function("twice")
		must(t, err)
		b := onDevice(t, d, 64)
		must(t, s.Launch(fn, device.Grid{}, b))
		must(t, s.Record(e))
		must(t, s.Free(b))
		must(t, e.Close())
		must(t, m.Close())
		must(t, s.Close())
	}
	f.mu.Lock()
	for kind, most := range map[string]int{"streams": 1, "modules": 0, "blocks": 0, "events": 8} { // the pool has a stream, and events are kept
		if n := f.live[kind]; n > most {
			t.Errorf("%d of %s are open", n, kind)
		}
	}
	f.mu.Unlock()
	must(t, d.Close())
	for range 10000 {
		d, err := l.open(0, collect(nil))
		must(t, err)
		must(t, d.Close())
	}
	if len(l.contexts) != 0 || len(l.devices) != 0 {
		t.Errorf("%d contexts, %d devices", len(l.contexts), len(l.devices))
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestBlocksOutliveTheDevice holds memory beyond Close: it stays valid, and the
// context stays until it goes.
func TestBlocksOutliveTheDevice(t *testing.T) {
	f := newFake(t)
	d := f.open()
	b := onDevice(t, d, 100)
	h, err := memory.New(d.Pinned(), 100)
	must(t, err)
	must(t, d.Close())
	h.Bytes()[99] = 7
	if f.live["contexts"] != 1 {
		t.Fatal("the context went before the memory")
	}
	b.Release()
	h.Release()
	if f.live["contexts"] != 0 {
		t.Fatal("the context did not go with the last block")
	}
}

// TestOutOfMemoryWhileGivingBack asks for memory at the moment when another
// goroutine is giving it back: that is waited for.
func TestOutOfMemoryWhileGivingBack(t *testing.T) {
	f := newFake(t)
	f.capacity = 1 << 20
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	a := onDevice(t, d, 700<<10)
	must(t, wait(t, s))
	s.(*stream).tail.retiring.Lock() // as one who ends work does
	time.AfterFunc(5*time.Millisecond, func() {
		a.Release()
		s.(*stream).tail.retiring.Unlock()
	})
	onDevice(t, d, 700<<10).Release()
}
