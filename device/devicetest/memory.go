package devicetest

import (
	"bytes"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func testInfo(b *bench) {
	i := b.d.Info()
	if b.d.Name() == "" || i.Name != b.d.Name() || i.Model == "" || i.Units < 1 || i.Lanes < 1 || i.MaxGroup < 1 {
		b.Fatalf("%+v", i)
	}
	if i.Memory < 0 || i.MemoryFree < 0 || i.MemoryFree > i.Memory || i.Cache < i.CacheL2 {
		b.Fatalf("%+v", i)
	}
	if b.d.Memory().Place() != b.d.Place() {
		b.Fatalf("memory on %s of a device on %s", b.d.Memory().Place(), b.d.Place())
	}
	if !b.d.Pinned().Place().HostAccessible() {
		b.Fatalf("pinned memory on %s", b.d.Pinned().Place())
	}
}

func testAllocate(b *bench) {
	for _, a := range []memory.Allocator{b.d.Memory(), b.d.Pinned()} {
		for _, n := range []int64{0, 1, 63, 64, 65, 1 << 20} {
			buf, err := memory.New(a, n)
			b.must(err)
			if buf.Len() != n || buf.Place() != a.Place() {
				b.Fatalf("%d bytes on %s", buf.Len(), buf.Place())
			}
			buf.Release()
		}
		_, err := a.Allocate(-1)
		b.is(err, device.ErrMismatch, "-1 bytes")
		_, err = a.Allocate(1 << 60)
		b.is(err, device.ErrOutOfMemory, "2^60 bytes")
	}
}

func testCopyBothWays(b *bench) {
	s := b.stream()
	for _, n := range []int{0, 1, 255, 1 << 20, 5<<20 + 3} {
		want := pattern(n, byte(n))
		x := b.device(s, want)
		y, err := memory.New(b.d.Memory(), int64(n))
		b.must(err)
		b.must(s.Copy(y, 0, x, 0, int64(n))) // on the device
		if !bytes.Equal(b.read(s, y), want) {
			b.Fatalf("%d bytes came back changed", n)
		}
		x.Release()
		y.Release()
	}
	h := b.host(pattern(100, 1)) // pieces, and within one buffer
	x := b.device(s, make([]byte, 100))
	b.must(s.Copy(x, 10, h, 20, 30))
	b.must(s.Copy(x, 60, x, 10, 30))
	got := b.read(s, x)
	want := make([]byte, 100)
	copy(want[10:], h.Bytes()[20:50])
	copy(want[60:], h.Bytes()[20:50])
	if !bytes.Equal(got, want) {
		b.Fatalf("pieces: %v", got)
	}
	part, err := x.Slice(10, 30) // a slice is a buffer like any other
	b.must(err)
	if !bytes.Equal(b.read(s, part), h.Bytes()[20:50]) {
		b.Fatal("a slice came back changed")
	}
	part.Release()
	x.Release()
	h.Release()
}

func testRanges(b *bench) {
	s := b.stream()
	x, y := b.device(s, make([]byte, 100)), b.host(make([]byte, 50))
	bad := [][3]int64{{-1, 0, 1}, {0, -1, 1}, {0, 0, -1}, {0, 0, 51}, {51, 0, 50}, {100, 0, 1}, {0, 50, 1}, {1 << 62, 0, 1 << 62}, {0, 1 << 62, 1 << 62}}
	for _, r := range bad {
		b.is(s.Copy(x, r[0], y, r[1], r[2]), device.ErrMismatch, "copy beyond an end")
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {0, 101}, {100, 1}, {1 << 62, 1 << 62}} {
		b.is(s.Fill(x, r[0], r[1], 1), device.ErrMismatch, "fill beyond an end")
	}
	b.is(s.Copy(nil, 0, y, 0, 0), device.ErrMismatch, "copy to nothing")
	b.is(s.Copy(y, 0, nil, 0, 0), device.ErrMismatch, "copy of nothing")
	b.is(s.Fill(nil, 0, 0, 0), device.ErrMismatch, "fill of nothing")
	b.is(s.Call("nothing", nil), device.ErrMismatch, "call of nothing")
	b.is(s.Record(nil), device.ErrMismatch, "record of nothing")
	b.is(s.WaitEvent(nil), device.ErrMismatch, "wait for nothing")
	b.must(s.Copy(x, 100, y, 50, 0))
	b.must(b.wait(s)) // refused arguments do the stream no harm
	x.Release()
	y.Release()
}

func testFill(b *bench) {
	s := b.stream()
	for _, n := range []int{1, 7, 4095, 4096, 4097, 10000, 1 << 20} {
		want := pattern(n+20, 3)
		x := b.device(s, want)
		for i := range n {
			want[10+i] = 0xA1
		}
		b.must(s.Fill(x, 10, int64(n), 0xA1))
		b.must(s.Fill(x, 0, 0, 0xEE))
		if !bytes.Equal(b.read(s, x), want) {
			b.Fatalf("fill of %d bytes", n)
		}
		b.must(s.Fill(x, 0, int64(n), 0))
		clear(want[:n])
		if !bytes.Equal(b.read(s, x), want) {
			b.Fatalf("fill of %d bytes with 0", n)
		}
		x.Release()
	}
}

// testFree frees buffers that queued work still needs.
func testFree(b *bench) {
	s := b.stream()
	var freed atomic.Int32
	g := b.gate(s)
	src := counting(1000, func() { freed.Add(1) })
	copy(src.Bytes(), pattern(1000, 9))
	dst := b.host(make([]byte, 1000))
	b.must(s.Copy(dst, 0, src, 0, 1000))
	src.Release() // the copy keeps it
	late := counting(10, func() { freed.Add(10) })
	b.must(s.Free(late))
	<-g.entered
	if freed.Load() != 0 {
		b.Fatal("freed ahead of the work before it")
	}
	close(g.open)
	b.must(b.wait(s))
	if freed.Load() != 11 {
		b.Fatalf("%d freed", freed.Load())
	}
	if !bytes.Equal(dst.Bytes(), pattern(1000, 9)) {
		b.Fatal("the copy lost its source")
	}
	b.must(s.Free(dst))
	b.must(s.Free(nil))
	b.must(b.wait(s))
}
