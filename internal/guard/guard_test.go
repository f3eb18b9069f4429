package guard

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

func kinds() map[string]func() *Allocator {
	return map[string]func() *Allocator{
		"head":    func() *Allocator { return New(Head) },
		"tail":    func() *Allocator { return New(Tail) },
		"checked": func() *Allocator { return Checked(memory.Heap) },
	}
}

func TestBlocksAreAlignedPoisonedAndPadded(t *testing.T) {
	for name, open := range kinds() {
		t.Run(name, func(t *testing.T) {
			a := open()
			for _, size := range []int64{0, 1, 7, 63, 64, 65, 4032, 4095, 4096, 4097, 70000} {
				b, err := a.Allocate(size)
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(b.Bytes)) != size || int64(cap(b.Bytes)) != memory.Padded(size) || b.Size != size {
					t.Fatalf("size %d: len %d cap %d", size, len(b.Bytes), cap(b.Bytes))
				}
				if uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes)))%memory.Alignment != 0 {
					t.Fatalf("size %d is not aligned", size)
				}
				full := b.Bytes[:cap(b.Bytes)]
				if i := Spoiled(full); i >= 0 {
					t.Fatalf("size %d: byte %d is %#x", size, i, full[i])
				}
				clear(full) // the padding may be written
				a.Free(b)
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// beyond is the byte i from the start of b, wherever that is.
func beyond(b memory.Block, i int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b.Bytes)), i))
}

func TestOverwritesAreTold(t *testing.T) {
	cases := []struct {
		kind string
		at   int
		text string
	}{
		{"head", 128, "byte 0 after the padding"},
		{"tail", -1, "byte -1 was overwritten"},
		{"checked", -3, "byte -3 was overwritten"},
		{"checked", 130, "byte 2 after the padding"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.kind, c.at), func(t *testing.T) {
			a := kinds()[c.kind]()
			b, err := a.Allocate(100)
			if err != nil {
				t.Fatal(err)
			}
			*beyond(b, c.at) = 1
			a.Free(b)
			err = a.Close()
			if err == nil || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "TestOverwritesAreTold") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestLeaksAndDoubleFreesAreTold(t *testing.T) {
	for name, open := range kinds() {
		a := open()
		b, _ := a.Allocate(10)
		if _, err := a.Allocate(20); err != nil {
			t.Fatal(err)
		}
		a.Free(b)
		a.Free(b)
		if a.Live() != 1 {
			t.Fatalf("%s: %d live", name, a.Live())
		}
		err := a.Close()
		for _, want := range []string{"leak: a block of 20 bytes", "a block of 10 bytes was freed that is not out"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("%s: got %v", name, err)
			}
		}
		if _, err := a.Allocate(1); !errors.Is(err, memory.ErrClosed) {
			t.Fatalf("%s: got %v", name, err)
		}
		if _, err := open().Allocate(-1); !errors.Is(err, memory.ErrMismatch) {
			t.Fatalf("%s: got %v", name, err)
		}
	}
}

func TestBuffersFromManyGoroutines(t *testing.T) {
	for name, open := range kinds() {
		a := open()
		var wait sync.WaitGroup
		for g := range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				for i := range 100 {
					b, err := memory.NewZeroed(a, int64(i*g*31))
					if err != nil {
						t.Error(err)
						return
					}
					b.Release()
				}
			}()
		}
		wait.Wait()
		if err := a.Close(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}
