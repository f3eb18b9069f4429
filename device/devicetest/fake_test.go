package devicetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

func TestFakeWithoutFaultsIsADevice(t *testing.T) {
	devicetest.Run(t, func() device.Device { return devicetest.NewFake(host.New()) })
}

func open(t *testing.T) (*devicetest.Fake, device.Stream) {
	t.Helper()
	count := memory.NewTraced(memory.Heap)
	f := devicetest.NewFake(host.New(host.WithAllocator(count)))
	s, err := f.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := count.Check(); err != nil {
			t.Error(err)
		}
	})
	return f, s
}

func buffer(t *testing.T, a memory.Allocator, n int64) *memory.Buffer {
	t.Helper()
	b, err := memory.NewZeroed(a, n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFakeFailsAllocations(t *testing.T) {
	f, _ := open(t)
	buffer(t, f.Memory(), 8).Release()
	f.FailAllocations(2)
	a, b := buffer(t, f.Memory(), 100), buffer(t, f.Pinned(), 20)
	for range 3 {
		_, err := memory.New(f.Memory(), 50)
		var oom *memory.OutOfMemory
		if !errors.As(err, &oom) || oom.Requested != 50 || oom.InUse != 120 || !errors.Is(err, device.ErrOutOfMemory) {
			t.Fatal(err)
		}
	}
	if f.Allocations() != 6 || f.InUse() != 120 {
		t.Fatalf("%d allocations, %d bytes", f.Allocations(), f.InUse())
	}
	a.Release()
	b.Release()
	f.FailAllocations(-1)
	buffer(t, f.Memory(), 8).Release()
}

func TestFakeLimitsMemory(t *testing.T) {
	f, _ := open(t)
	f.LimitMemory(150)
	a := buffer(t, f.Memory(), 100)
	_, err := memory.New(f.Memory(), 51)
	var oom *memory.OutOfMemory
	if !errors.As(err, &oom) || oom.InUse != 100 || oom.Limit != 150 {
		t.Fatal(err)
	}
	buffer(t, f.Memory(), 50).Release()
	a.Release()
	f.LimitMemory(-1)
	buffer(t, f.Memory(), 1000).Release()
	if f.InUse() != 0 {
		t.Fatalf("%d bytes in use", f.InUse())
	}
}

func TestFakeLosesTheDevice(t *testing.T) {
	f, s := open(t)
	other, err := f.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.LoadModule(t.Context(), devicetest.Kernels())
	if err != nil {
		t.Fatal(err)
	}
	fn, err := m.Function("twice")
	if err != nil {
		t.Fatal(err)
	}
	x := buffer(t, f.Memory(), 8)
	f.LoseAfter(3)
	for _, err := range []error{
		s.Fill(x, 0, 1, 3), s.Copy(x, 1, x, 0, 1), s.Launch(fn, device.Grid{}, x),
		s.Launch(fn, device.Grid{}, x), // this one; it is found out later
		s.Free(x.Retain()),
	} {
		if err != nil && !errors.Is(err, device.ErrLost) {
			t.Fatal(err)
		}
	}
	lost := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", what, err)
		}
	}
	lost("wait", s.Wait(t.Context()))
	lost("wait again", s.Wait(t.Context()))
	lost("wait on another stream", other.Wait(t.Context()))
	lost("call", other.Call("late", func() error { return nil }))
	lost("copy", s.Copy(x, 0, x, 0, 1))
	lost("free", s.Free(x.Retain()))
	_, err = f.NewStream()
	lost("new stream", err)
	_, err = f.NewEvent()
	lost("new event", err)
	_, err = f.LoadModule(t.Context(), devicetest.Kernels())
	lost("load module", err)
	_, err = f.Memory().Allocate(8)
	lost("allocate", err)
	if v := x.Bytes(); v[0] != 6 || v[1] != 6 { // filled with 3, copied, doubled once
		t.Errorf("the work before the loss left %v", v)
	}
	lost("wait at last", s.Wait(t.Context()))
	if x.Refs() != 1 {
		t.Errorf("%d references are left", x.Refs())
	}
	x.Release()
}

func TestFakeDelaysCopies(t *testing.T) {
	f, s := open(t)
	f.DelayCopies(500 * time.Millisecond)
	x := buffer(t, f.Memory(), 8)
	x.Bytes()[0] = 7
	from, to := time.Now(), time.Time{}
	if err := s.Copy(x, 1, x, 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Call("look", func() error { to = time.Now(); return nil }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx); !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if x.Bytes()[1] != 7 || to.Sub(from) < 500*time.Millisecond {
		t.Fatalf("%v after %s", x.Bytes(), to.Sub(from))
	}
	x.Release()
}
