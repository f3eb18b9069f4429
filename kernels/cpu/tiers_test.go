package cpu

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/guard"
)

// maxLoop is the longest slice that the loops' tests give them: each length up
// to it is tried.
const maxLoop = 300

// eachTier runs f for the loops of every tier above generic, with those in Go,
// and with two arenas: slices that end, and slices that begin, where unmapped
// memory does.
func eachTier(t *testing.T, f func(t *testing.T, want, got *loops, r *rand.Rand, mem *guarded)) {
	t.Helper()
	names, all := available()
	for i, l := range all[1:] {
		for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
			t.Run(names[i+1]+"/"+mode.String(), func(t *testing.T) {
				mem := &guarded{t: t, mode: mode, alloc: guard.New(mode)}
				defer mem.close()
				f(t, all[0], l, rand.New(rand.NewPCG(1, 2)), mem)
			})
		}
	}
}

// guarded gives slices against unmapped memory: those of n = 0, 1, 2… end there
// and so begin at every alignment, or begin there and end at every one.
type guarded struct {
	t     *testing.T
	mode  guard.Mode
	alloc *guard.Allocator
	pages [][]byte
	next  int
}

// close tells what was written beyond slices' pages.
func (g *guarded) close() {
	g.pages = nil
	if err := g.alloc.Close(); err != nil && !strings.Contains(err.Error(), "leak") {
		g.t.Error(err)
	}
}

// again takes all slices back, for the next round.
func (g *guarded) again() { g.next = 0 }

// guardedPage is the bytes of the page of a slice.
const guardedPage = 1 << 15

// slice is n values of size bytes, all Poison.
func (g *guarded) slice(n int) []byte {
	if n > guardedPage {
		g.t.Fatalf("a guarded slice of %d bytes", n)
	}
	if g.next == len(g.pages) {
		b, err := g.alloc.Allocate(guardedPage)
		if err != nil {
			g.t.Fatal(err)
		}
		g.pages = append(g.pages, b.Bytes[:guardedPage])
	}
	page := g.pages[g.next]
	g.next++
	guard.Fill(page, guard.Poison)
	if g.mode == guard.Head {
		return page[:n:n]
	}
	return page[guardedPage-n:]
}

// intact fails the test where a slice's page has another byte than Poison
// outside of it.
func (g *guarded) intact(what string, n int, pages ...int) {
	g.t.Helper()
	for _, p := range pages {
		rest := g.pages[p][:guardedPage-n]
		if g.mode == guard.Head {
			rest = g.pages[p][n:]
		}
		if guard.Spoiled(rest) >= 0 {
			g.t.Fatalf("%s: a byte outside of a slice of %d bytes was written", what, n)
		}
	}
}

// room is n guarded values of type T, garbage.
func room[T any](g *guarded, n int) []T {
	var v T
	b := g.slice(n * int(unsafe.Sizeof(v)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// one is a guarded value of type T without pointers, garbage, that takes whole lines: of
// memory of its own, however long, that no round takes back.
func one[T any](g *guarded) *T {
	size := unsafe.Sizeof(*new(T))
	b, err := g.alloc.Allocate(int64(size))
	if err != nil {
		g.t.Fatal(err)
	}
	if uintptr(len(b.Bytes)) != size {
		g.t.Fatalf("%d bytes for %d: the last is not at the end", len(b.Bytes), size)
	}
	return (*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes)))
}

// like is a guarded copy of v.
func like[T any](g *guarded, v []T) []T {
	c := room[T](g, len(v))
	copy(c, v)
	return c
}

// rawBytes are the bytes of values, so that floats are compared bit for bit.
func rawBytes[T any](v []T) []byte {
	var x T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(x)))
}

// same fails the test where two slices differ in a bit.
func same[T any](t *testing.T, what string, n int, got, want []T) {
	t.Helper()
	if !bytes.Equal(rawBytes(got), rawBytes(want)) {
		t.Fatalf("%s of %d: %v, not %v", what, n, got, want)
	}
}

// randomBytes are n bytes of a few kinds: runs of zeros and ones, and noise.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	kind := r.IntN(4)
	for i := range b {
		if kind == 3 && r.IntN(8) == 0 || kind < 2 {
			b[i] = byte(r.Uint32())
		} else if kind == 2 {
			b[i] = 0xff
		}
	}
	return b
}

func TestTiersAreValues(t *testing.T) {
	sets := Tiers()
	if sets[0].Name != "generic" {
		t.Fatalf("the first tier is %s", sets[0].Name)
	}
	support := sets[0].Support()
	for _, set := range sets {
		if m := set.Missing(); len(m) > 0 {
			t.Errorf("%s has no %v", set.Name, m)
		}
		if !slices.Equal(set.Support(), support) {
			t.Errorf("%s and generic support different pairs", set.Name)
		}
		set.Compare.Func = nil
	}
	if Generic().Compare.Func == nil || Tiers()[0].Compare.Func == nil {
		t.Error("what is overwritten in a tier is overwritten in the next one made")
	}
}

func TestTierByName(t *testing.T) {
	d := host.New()
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	names, _ := available()
	for _, name := range append(names, "") {
		t.Setenv("VOLLEY_CPU", name)
		if name == "" {
			name = names[len(names)-1]
		}
		b, err := New(d)
		if err != nil || b.Set.Name != name {
			t.Errorf("VOLLEY_CPU=%s: %v, %v", name, b, err)
		}
	}
	t.Setenv("VOLLEY_CPU", "avx1024")
	if _, err := New(d); !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), strings.Join(names, ", ")) {
		t.Errorf("a tier that there is not: %v", err)
	}
}
