package cuda

import (
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// TestCopyWays looks which of the driver's copies runs.
func TestCopyWays(t *testing.T) {
	f := newFake(t)
	l := f.library()
	d, err := l.open(0, collect(nil))
	must(t, err)
	defer d.Close()
	other, err := l.open(1, collect(nil))
	must(t, err)
	s := newStream(t, d)
	a, b, c := onDevice(t, d, 64), onDevice(t, d, 64), onDevice(t, other, 64)
	pinned, err := memory.New(d.Pinned(), 64)
	must(t, err)
	plain := memory.Wrap(make([]byte, 64), nil)
	for _, step := range []struct {
		dst, src *memory.Buffer
		want     string
	}{
		{a, pinned, "cuMemcpyHtoDAsync"},
		{a, plain, "cuMemcpyHtoDAsync"},
		{b, a, "cuMemcpyDtoDAsync"},
		{c, b, "cuMemcpyPeerAsync"},
		{a, c, "cuMemcpyPeerAsync"},
		{pinned, a, "cuMemcpyDtoHAsync"},
		{plain, a, "cuMemcpyDtoHAsync"},
		{pinned, plain, ""},
	} {
		f.lastCopy = ""
		if step.src.Place().HostAccessible() {
			step.src.Bytes()[7]++
		}
		must(t, s.Copy(step.dst, 0, step.src, 0, 64))
		must(t, wait(t, s))
		if f.lastCopy != step.want {
			t.Errorf("from %s to %s by %q", step.src.Place(), step.dst.Place(), f.lastCopy)
		}
	}
	if pinned.Bytes()[7] != plain.Bytes()[7] || pinned.Bytes()[7] == 0 {
		t.Errorf("%d and %d", pinned.Bytes()[7], plain.Bytes()[7])
	}
	is(t, s.Fill(c, 0, 64, 1), device.ErrMismatch, "cuda:1")
	cl := memory.WrapBlock(memory.Place{Type: memory.OpenCL}, memory.Block{Handle: 1, Size: 64}, nil)
	is(t, s.Copy(a, 0, cl, 0, 64), device.ErrMismatch, "opencl:0")
	c.Release()
	must(t, other.Close())
	gone := memory.WrapBlock(memory.Place{Type: memory.CUDA, ID: 1}, memory.Block{Handle: 1, Size: 64}, nil)
	is(t, s.Copy(a, 0, gone, 0, 64), device.ErrMismatch, "cuda:1, which is not open")
	must(t, wait(t, s))
	for _, x := range []*memory.Buffer{a, b, pinned, plain} {
		x.Release()
	}
}

func TestPeers(t *testing.T) {
	f := newFake(t)
	l := f.library()
	d, err := l.open(0, collect(nil))
	must(t, err)
	defer d.Close()
	other, err := l.open(1, collect(nil))
	must(t, err)
	defer other.Close()
	s := newStream(t, d)
	b := onDevice(t, other, 8)
	defer b.Release()
	fn := kernel(t, d, "twice")
	is(t, s.Launch(fn, device.Grid{}, b), device.ErrMismatch, "cuda:1", "no access")
	must(t, d.EnablePeer(d))
	must(t, d.EnablePeer(other))
	f.drv.enablePeer = func(handle) code { return errorPeerEnabled }
	must(t, d.EnablePeer(other))
	must(t, s.Launch(fn, device.Grid{}, b))
	must(t, wait(t, s))
	if f.called("cuMemPoolSetAccess") != 2 {
		t.Error("the pool was not opened to the peer")
	}
	f.drv.canAccessPeer = func(int32, int32) (bool, code) { return false, success }
	is(t, other.EnablePeer(d), device.ErrUnsupported, "cuda:0")
	is(t, d.EnablePeer(nil), device.ErrMismatch)
	stranger := newFake(t).open()
	defer stranger.Close()
	is(t, d.EnablePeer(stranger), device.ErrMismatch)

	// Events order streams of two GPUs, and tell no time between them.
	from, err := d.NewEvent()
	must(t, err)
	to, err := other.NewEvent()
	must(t, err)
	s2 := newStream(t, other)
	must(t, s.Record(from))
	must(t, s2.WaitEvent(from))
	must(t, s2.Record(to))
	must(t, wait(t, s2))
	must(t, wait(t, s))
	_, err = to.Since(from)
	is(t, err, device.ErrMismatch, "no clock in common")
	alien, err := stranger.NewEvent()
	must(t, err)
	is(t, s.WaitEvent(alien), device.ErrMismatch)
	must(t, from.Close())
	must(t, to.Close())
}

func TestRegister(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	ended := 0
	b, err := d.Register(make([]byte, 100), func() { ended++ })
	must(t, err)
	if b.Place() != d.Pinned().Place() || b.Len() != 100 || f.live["registrations"] != 1 {
		t.Fatalf("%s, %d bytes", b.Place(), b.Len())
	}
	x := onDevice(t, d, 100)
	must(t, s.Copy(x, 0, b, 0, 100))
	must(t, s.Free(b))
	must(t, s.Free(x))
	must(t, wait(t, s))
	if ended != 1 || f.live["registrations"] != 0 {
		t.Fatalf("ended %d times, %d left", ended, f.live["registrations"])
	}
	_, err = d.Register(nil, nil)
	is(t, err, device.ErrMismatch)
	f.failOn(func(call string) code {
		if call == "cuMemHostRegister" {
			return errorOutOfMemory
		}
		return success
	})
	_, err = d.Register(make([]byte, 100), nil)
	is(t, err, device.ErrOutOfMemory, "100 bytes requested")
}
