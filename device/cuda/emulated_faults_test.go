package cuda_test

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/dl"
	"github.com/volley-go/volley/memory"
)

// faulty are kernels that go wrong, or take long.
func faulty() device.Source {
	return device.Source{Name: "faulty.cu", Text: `
extern "C" __global__ void fine(long long *out) { out[threadIdx.x] += 1; }
extern "C" __global__ void outside(long long *out, long long n) { out[n + threadIdx.x] = 1; }
extern "C" __global__ void slow(volatile long long *out, int n) {
	for (int i = 0; i < n; i++) out[0] = out[0] + 1;
}
`}
}

// emulated are the emulator's two devices. On a machine that cannot have the
// emulator there are none, and the tests with the fake driver are what is left.
type emulated struct {
	t      *testing.T
	lib    *dl.Library
	first  *cuda.Device
	second *cuda.Device
	log    string
}

func newEmulated(t *testing.T) *emulated {
	t.Helper()
	if devices(t) == 0 {
		return nil
	}
	lib, err := dl.Open(os.Getenv("VOLLEY_CUDA_LIBRARY"))
	must(t, err)
	if lib.Optional("cuemuFail") == 0 {
		t.Log("the driver is a real one: nothing is broken on purpose there")
		return nil
	}
	e := &emulated{t: t, lib: lib, log: filepath.Join(t.TempDir(), "log")}
	t.Setenv("CUEMU_LOG", e.log)
	before := e.left()
	e.first, err = cuda.Open(0)
	must(t, err)
	e.second, err = cuda.Open(1)
	must(t, err)
	t.Cleanup(func() {
		must(t, errors.Join(e.first.Close(), e.second.Close()))
		for deadline := time.Now().Add(10 * time.Second); !maps.Equal(e.left(), before); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) { // a wait that was cancelled gives its part back a moment later
				t.Fatalf("%v are left, %v before", e.left(), before)
			}
		}
	})
	return e
}

// left is what the emulator has given out.
func (e *emulated) left() map[string]int {
	e.t.Helper()
	count, err := e.lib.Symbol("cuemuCount")
	must(e.t, err)
	all := make(map[string]int)
	for _, kind := range []string{"streams", "events", "modules", "allocations", "pinned", "registered"} {
		name := append([]byte(kind), 0)
		all[kind] = int(dl.Call(count, uintptr(unsafe.Pointer(&name[0]))))
	}
	return all
}

// fail makes the nth call from now on return a code.
func (e *emulated) fail(name string, nth, code int) {
	e.t.Helper()
	f, err := e.lib.Symbol("cuemuFail")
	must(e.t, err)
	text := append([]byte(name), 0)
	_ = dl.Call(f, uintptr(unsafe.Pointer(&text[0])), uintptr(nth), uintptr(code))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

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

func stream(t *testing.T, d *cuda.Device) device.Stream {
	t.Helper()
	s, err := d.NewStream()
	must(t, err)
	return s
}

func function(t *testing.T, d *cuda.Device, name string) device.Function {
	t.Helper()
	m, err := d.LoadModule(t.Context(), faulty())
	must(t, err)
	f, err := m.Function(name)
	must(t, err)
	return f
}

func zeroed(t *testing.T, d *cuda.Device, s device.Stream, n int64) *memory.Buffer {
	t.Helper()
	b, err := memory.New(d.Memory(), n)
	must(t, err)
	must(t, s.Fill(b, 0, n, 0))
	return b
}

func first(t *testing.T, d *cuda.Device, s device.Stream, b *memory.Buffer) int64 {
	t.Helper()
	h, err := memory.New(d.Pinned(), 8)
	must(t, err)
	defer h.Release()
	must(t, s.Copy(h, 0, b, 0, 8))
	must(t, s.Wait(t.Context()))
	return int64(binary.LittleEndian.Uint64(h.Bytes()))
}

// TestEmulatedLoss writes outside of memory: the device is lost, the error names
// the launch, the other device goes on, and opened again the first one works.
func TestEmulatedLoss(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	s, so := stream(t, e.first), stream(t, e.second)
	b, bo := zeroed(t, e.first, s, 64), zeroed(t, e.second, so, 64)
	must(t, s.Wait(t.Context()))
	bad := function(t, e.first, "outside")
	_ = s.Launch(bad, device.Grid{}, b, int64(1<<30)) // found by this call or by the wait
	err := s.Wait(t.Context())
	is(t, err, device.ErrLost, "cuda:0", "outside", "code 700")
	is(t, s.Fill(b, 0, 8, 1), device.ErrLost, "outside")
	_, err = e.first.NewStream()
	is(t, err, device.ErrLost, "outside")
	_, err = cuda.Open(0)
	is(t, err, device.ErrLost, "outside")

	must(t, so.Launch(function(t, e.second, "fine"), device.Grid{}, bo))
	if v := first(t, e.second, so, bo); v != 1 {
		t.Errorf("the other device counts %d", v)
	}
	b.Release()
	bo.Release()
	must(t, e.first.Close())
	e.first, err = cuda.Open(0)
	must(t, err)
	s = stream(t, e.first)
	b = zeroed(t, e.first, s, 64)
	must(t, s.Launch(function(t, e.first, "fine"), device.Grid{}, b))
	if v := first(t, e.first, s, b); v != 1 {
		t.Errorf("the device that was opened again counts %d", v)
	}
	b.Release()
	log, err := os.ReadFile(e.log)
	must(t, err)
	if !strings.Contains(string(log), "outside") {
		t.Errorf("the emulator's log does not name the kernel:\n%s", log)
	}
}

// TestEmulatedMemory runs out of memory, really and on purpose, and goes on.
func TestEmulatedMemory(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	s := stream(t, e.first)
	b := zeroed(t, e.first, s, 200<<20)
	_, err := memory.New(e.first.Memory(), 100<<20)
	is(t, err, device.ErrOutOfMemory, "cuda:0", "104857600 bytes requested", "58720256 free")
	for _, call := range []string{"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync"} {
		e.fail(call, 1, 2)
	}
	_, err = memory.New(e.first.Memory(), 1<<20)
	is(t, err, device.ErrOutOfMemory, "1048576 bytes requested")
	must(t, s.Launch(function(t, e.first, "fine"), device.Grid{}, b))
	if v := first(t, e.first, s, b); v != 1 {
		t.Errorf("counted %d", v)
	}
	must(t, s.Free(b)) // still in the stream when the next one asks for it
	zeroed(t, e.first, s, 150<<20).Release()
	must(t, s.Wait(t.Context()))
}

// TestEmulatedArguments refuses launches that would overwrite memory.
func TestEmulatedArguments(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	s := stream(t, e.first)
	b := zeroed(t, e.first, s, 64)
	f := function(t, e.first, "slow")
	is(t, s.Launch(f, device.Grid{}, b), device.ErrMismatch, "1 arguments for 2 parameters")
	is(t, s.Launch(f, device.Grid{}, b, int64(3)), device.ErrMismatch, "argument 1 is a int64 of 8 bytes, and the parameter has 4")
	must(t, s.Launch(f, device.Grid{}, b, int32(3)))
	if v := first(t, e.first, s, b); v != 3 {
		t.Errorf("counted %d", v)
	}
	b.Release()
}

// TestEmulatedCancel ends a wait for a kernel that takes long.
func TestEmulatedCancel(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	s := stream(t, e.first)
	b := zeroed(t, e.first, s, 8)
	const n = 10_000_000
	f := function(t, e.first, "slow")
	must(t, s.Launch(f, device.Grid{}, b, int32(n)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	is(t, s.Wait(ctx), device.ErrCanceled)
	must(t, s.Launch(f, device.Grid{}, b, int32(1)))
	if v := first(t, e.first, s, b); v != n+1 {
		t.Errorf("counted %d", v)
	}
	b.Release()
}

// TestEmulatedSource compiles what is wrong: the error has the user's line.
func TestEmulatedSource(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	_, err := e.first.LoadModule(t.Context(), device.Source{Name: "mine.cu", Text: "extern \"C\" __global__ void k(int *p) {\n\tp[0] = nothing;\n}\n"})
	is(t, err, device.ErrUnsupported, "mine.cu", "2", "nothing")
	_, err = e.first.LoadModule(t.Context(), device.Source{Name: "mine.ptx", Image: []byte(".version 8.0\n.target sm_60\nno such thing")})
	is(t, err, device.ErrUnsupported, "mine.ptx")
}

// TestEmulatedPeers moves bytes between two devices, and reads one from the other.
func TestEmulatedPeers(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	s, so := stream(t, e.first), stream(t, e.second)
	a, b := zeroed(t, e.first, s, 64), zeroed(t, e.second, so, 64)
	must(t, s.Wait(t.Context()))
	must(t, so.Launch(function(t, e.second, "fine"), device.Grid{}, b))
	done, err := e.second.NewEvent()
	must(t, err)
	must(t, so.Record(done))
	must(t, s.WaitEvent(done))
	must(t, s.Copy(a, 0, b, 0, 64))
	if v := first(t, e.first, s, a); v != 1 {
		t.Errorf("the copy has %d", v)
	}
	must(t, done.Close())
	must(t, e.first.EnablePeer(e.second))
	must(t, s.Launch(function(t, e.first, "fine"), device.Grid{}, b))
	must(t, s.Wait(t.Context()))
	if v := first(t, e.second, so, b); v != 2 {
		t.Errorf("the peer has %d", v)
	}
	h, err := e.first.Register(make([]byte, 64), nil)
	must(t, err)
	must(t, s.Copy(h, 0, b, 0, 64))
	must(t, s.Wait(t.Context()))
	if h.Bytes()[0] != 2 {
		t.Errorf("registered memory has %d", h.Bytes()[0])
	}
	for _, x := range []*memory.Buffer{a, b, h} {
		x.Release()
	}
}

// TestEmulatedCycles opens and closes 10,000 of each; the emulator counts.
func TestEmulatedCycles(t *testing.T) {
	e := newEmulated(t)
	if e == nil {
		return
	}
	for range 10000 {
		s := stream(t, e.first)
		ev, err := e.first.NewEvent()
		must(t, err)
		b := zeroed(t, e.first, s, 64)
		must(t, s.Record(ev))
		must(t, s.Free(b))
		must(t, ev.Close())
		must(t, s.Close())
	}
	for range 1000 {
		d, err := cuda.Open(1)
		must(t, err)
		must(t, d.Close())
	}
	if left := e.left(); left["streams"] > 2 || left["allocations"] > 0 { // the two pools have a stream each
		t.Errorf("%v are left", left)
	}
}
