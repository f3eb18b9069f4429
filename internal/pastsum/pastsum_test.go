package pastsum

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/internal/pastcopy"
	"github.com/volley-go/volley/memory"
)

// Sums are those of the language in the canonical tree's order, of any length and wherever in a line they begin, against
// unmapped memory.
func TestSums(t *testing.T) {
	testSums(t, Uint32, func(r *rand.Rand) uint32 { return r.Uint32() })
	testSums(t, Uint64, func(r *rand.Rand) uint64 { return r.Uint64() })
	testSums(t, Float32, func(r *rand.Rand) float32 { return float32(r.NormFloat64()) })
	testSums(t, Float64, func(r *rand.Rand) float64 { return r.NormFloat64() })
}

func testSums[T number](t *testing.T, sum Func, number func(*rand.Rand) T) {
	var zero T
	t.Run(fmt.Sprintf("%T", zero), func(t *testing.T) {
		if (sum != nil) != has {
			t.Fatalf("there are loops: %t, and should be: %t", sum != nil, has)
		}
		if !has {
			return
		}
		size := int(unsafe.Sizeof(zero))
		for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
			a, r := guard.New(mode), rand.New(rand.NewPCG(1, uint64(size)))
			for n := range 4*Line/size + 2 {
				for _, shape := range [][2]int{{2, 1}, {2, 2}, {4, 1}, {4, 4}} {
					shift := r.IntN(Line / size)
					of, into := make([][]byte, shape[0]), make([][]byte, shape[1])
					var blocks []memory.Block
					room := func() []byte {
						b, err := a.Allocate(int64((n + shift) * size))
						if err != nil {
							t.Fatal(err)
						}
						blocks = append(blocks, b)
						return b.Bytes[shift*size:]
					}
					for i := range of {
						of[i] = room()
						for k := range n {
							*(*T)(unsafe.Pointer(&of[i][k*size])) = number(r)
						}
					}
					for i := range into {
						into[i] = room()
					}
					want := make([]T, n+1)
					for k, v := range cut[T](of, 0, n)[0] {
						all := cut[T](of, k, k+1)
						want[k] = v + all[1][0]
						if len(of) == 4 {
							want[k] += all[2][0] + all[3][0]
						}
					}
					if !sum(into, of) {
						t.Fatalf("%d vectors to %d are not added", shape[0], shape[1])
					}
					pastcopy.Fence()
					for i := range into {
						if raw := unsafe.Slice((*byte)(unsafe.Pointer(&want[0])), n*size); !bytes.Equal(into[i], raw) {
							t.Fatalf("%d vectors to %d, %d elements from %d on: result %d is another", shape[0], shape[1], n, shift, i)
						}
					}
					for _, b := range blocks {
						a.Free(b)
					}
				}
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What there is no loop for is left as it is.
func TestNotAdded(t *testing.T) {
	if !has {
		return
	}
	vectors := make([][]byte, 9)
	for i := range vectors {
		vectors[i] = make([]byte, 4*Line)
	}
	apart := [][]byte{vectors[0][:Line], vectors[1][4:][:Line]}
	if address(vectors[0])%Line != address(vectors[1])%Line {
		apart[1] = vectors[0][2*Line+4:][:Line]
	}
	for what, args := range map[string][2][][]byte{
		"three vectors": {vectors[:1], vectors[1:4]}, "three results": {vectors[:3], vectors[3:7]},
		"no result": {nil, vectors[:2]}, "results that lie apart in lines": {apart, {vectors[2][:Line], vectors[3][:Line]}},
	} {
		if Float32(args[0], args[1]) {
			t.Errorf("%s are added", what)
		}
	}
}

// Two threads add vectors of 64 MiB past the caches, beside a copy that goes past them. MB/s are of what is read and stored.
func BenchmarkSums(b *testing.B) {
	const size, threads = 64 << 20, 2
	type vectors struct{ sum, x, y []byte }
	var all [threads]vectors
	for i := range all {
		for _, v := range []*[]byte{&all[i].sum, &all[i].x, &all[i].y} {
			block, err := memory.Heap.Allocate(size)
			if err != nil {
				b.Fatal(err)
			}
			defer memory.Heap.Free(block)
			for k := 0; k < size; k += 512 {
				block.Bytes[k] = 1
			}
			*v = block.Bytes
		}
	}
	if !has {
		return
	}
	for _, way := range []struct {
		name  string
		bytes int64
		run   func(v *vectors)
	}{
		{"copy", 2 * size, func(v *vectors) { pastcopy.Copy(v.sum, v.x) }},
		{"past", 3 * size, func(v *vectors) { Float32([][]byte{v.sum}, [][]byte{v.x, v.y}) }},
	} {
		b.Run("way="+way.name, func(b *testing.B) {
			b.SetBytes(threads * way.bytes)
			for b.Loop() {
				var both sync.WaitGroup
				for i := range all {
					both.Go(func() {
						way.run(&all[i])
						pastcopy.Fence()
					})
				}
				both.Wait()
			}
		})
	}
}
