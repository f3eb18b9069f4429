//go:build !purego

package order

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/volley-go/volley/internal/guard"
)

// TestNetworkInVectors holds each loop to once, on memory that ends where a page is
// not there.
func TestNetworkInVectors(t *testing.T) {
	for name, loop := range map[string]struct {
		has bool
		run func(x *int64, n int, net *uint64)
	}{"avx2": {cpu.X86.HasAVX2, onceAVX2}, "avx512": {cpu.X86.HasAVX512F, onceAVX512}} {
		if !loop.has {
			t.Logf("%s: not on this processor", name)
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		for bits := 2; bits <= 63; bits++ {
			n := int64(1)<<(bits-1) + r.Int64N(1<<(bits-1)-1) + 1
			p := NewPermutation(n, r.Uint64(), r.Uint64())
			for _, length := range []int64{0, step, 2 * step, 5 * step} {
				a := guard.New(guard.Tail)
				b, err := a.Allocate(8 * length)
				if err != nil {
					t.Fatal(err)
				}
				x := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b.Bytes))), length)
				var want []uint64
				for i := range x {
					x[i] = int64(r.Uint64() >> (64 - bits))
					want = append(want, p.once(uint64(x[i])))
				}
				net := p.network()
				loop.run(unsafe.SliceData(x), len(x), net.words())
				for i := range x {
					if uint64(x[i]) != want[i] {
						t.Fatalf("%s: of %d numbers, %d: %d is %d and not %d", name, n, length, i, x[i], want[i])
					}
				}
				a.Free(b)
				if err := a.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
