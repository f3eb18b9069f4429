package memory

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestBufferIsFreedWithTheLastRelease(t *testing.T) {
	c := NewTraced(Heap)
	b, err := New(c, 100)
	if err != nil {
		t.Fatal(err)
	}
	if b.Len() != 100 || len(b.Bytes()) != 100 || b.Place() != Host || b.Refs() != 1 {
		t.Fatalf("%d bytes, %d refs on %s", b.Len(), b.Refs(), b.Place())
	}
	if h, off := b.Handle(); h != 0 || off != 0 {
		t.Fatal("host memory with a handle")
	}
	if b.Retain() != b || b.Refs() != 2 {
		t.Fatalf("%d refs", b.Refs())
	}
	b.Release()
	if c.Stats().Blocks != 1 {
		t.Fatal("freed with a reference left")
	}
	before := OverReleases()
	b.Release()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	b.Release()
	b.Release()
	if OverReleases() != before+2 || c.Check() != nil {
		t.Fatalf("%d over-releases, %v", OverReleases()-before, c.Check())
	}
	var none *Buffer
	none.Retain().Release()
}

func TestNewZeroedClearsThePadding(t *testing.T) {
	c := NewCaching(Heap, 1<<20)
	dirty := mustAllocate(t, c, 1000)
	for i := range dirty.Bytes[:cap(dirty.Bytes)] {
		dirty.Bytes[:cap(dirty.Bytes)][i] = 0xff
	}
	c.Free(dirty)
	b, err := NewZeroed(c, 990)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if at(dirty) != &b.Bytes()[0] {
		t.Fatal("the dirty block was not reused")
	}
	for i, v := range b.Bytes()[:cap(b.Bytes())] {
		if v != 0 {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
}

func TestBufferSliceKeepsTheWholeAlive(t *testing.T) {
	c := NewCounted(Heap)
	b, _ := New(c, 100)
	for i := range b.Bytes() {
		b.Bytes()[i] = byte(i)
	}
	s, err := b.Slice(10, 50)
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Slice(5, 45)
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	s.Release()
	if c.Stats().Blocks != 1 || u.Len() != 45 || u.Bytes()[0] != 15 || u.Bytes()[44] != 59 {
		t.Fatalf("%d bytes from %d", u.Len(), u.Bytes()[0])
	}
	for _, r := range [][2]int64{{-1, 3}, {0, -1}, {0, 46}, {46, 0}, {1 << 62, 1 << 62}, {45, 1 << 62}} {
		if _, err := u.Slice(r[0], r[1]); !errors.Is(err, ErrMismatch) {
			t.Errorf("%v: %v", r, err)
		}
	}
	u.Release()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestDeviceBuffersHaveHandles(t *testing.T) {
	gone := 0
	b := WrapBlock(Place{CUDA, 1}, Block{Handle: 0x7000, Size: 64}, func() { gone++ })
	s, err := b.Slice(16, 8)
	if err != nil {
		t.Fatal(err)
	}
	if h, off := s.Handle(); h != 0x7000 || off != 16 || s.Bytes() != nil || View[int64](s) != nil {
		t.Fatalf("handle %x at %d", h, off)
	}
	if s.Place().String() != "cuda:1" {
		t.Fatal(s.Place())
	}
	b.Release()
	if gone != 0 {
		t.Fatal("freed under a slice")
	}
	s.Release()
	if gone != 1 {
		t.Fatalf("freed %d times", gone)
	}
}

// farAway stands for memory that the host cannot address.
type farAway struct{ Allocator }

func (farAway) Place() Place { return Place{OpenCL, 2} }

func TestBufferErrors(t *testing.T) {
	if _, err := New(Heap, -1); !errors.Is(err, ErrMismatch) {
		t.Error(err)
	}
	if _, err := New(NewLimited(Heap, 10), 11); !errors.Is(err, ErrOutOfMemory) {
		t.Error(err)
	}
	if _, err := NewZeroed(NewLimited(Heap, 10), 11); !errors.Is(err, ErrOutOfMemory) {
		t.Error(err)
	}
	if _, err := NewZeroed(farAway{Heap}, 5); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "opencl:2") {
		t.Error(err)
	}
}

func TestViewLeavesOutWhatIsNoWholeValue(t *testing.T) {
	b := Wrap([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0}, nil)
	if v := View[int32](b); len(v) != 2 || v[0] != 1 || v[1] != 2 {
		t.Fatal(v)
	}
	if View[int32](nil) != nil || View[int32](Wrap(nil, nil)) != nil {
		t.Fatal("a view of nothing")
	}
	b.Release() // with nothing to call
}

func TestBufferFromManyGoroutines(t *testing.T) {
	c := NewCounted(Heap)
	b, _ := New(c, 64)
	var wait sync.WaitGroup
	for range 8 {
		b.Retain()
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 1000 {
				s, err := b.Slice(8, 8)
				if err != nil {
					t.Error(err)
					return
				}
				s.Release()
			}
			b.Release()
		}()
	}
	b.Release()
	wait.Wait()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestPlacesSayWhatTheyAre(t *testing.T) {
	for want, p := range map[string]Place{
		"cpu": Host, "cuda:0": {CUDA, 0}, "opencl:1": {OpenCL, 1}, "device type 99:4": {99, 4},
		"cuda:2 (pinned host memory)": {CUDAHost, 2}, "cuda:3 (managed memory)": {CUDAManaged, 3},
	} {
		if p.String() != want {
			t.Errorf("%q, not %q", p, want)
		}
		if host := p.Type == CPU || p.Type == CUDAHost || p.Type == CUDAManaged; p.HostAccessible() != host {
			t.Errorf("%s: host accessible %v", p, p.HostAccessible())
		}
	}
}
