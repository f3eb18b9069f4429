package transporttest

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
)

func floats(b []byte) []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4) }

// Sum is the reduction of float32, whose result depends on the order.
func Sum(into, a, b []byte) {
	x, y := floats(a), floats(b)
	for i := range floats(into) {
		floats(into)[i] = x[i] + y[i]
	}
}

// Vectors are vectors of n bytes whose sum depends on the order, and their sum by the canonical tree.
func Vectors(ranks, n int) (vectors [][]byte, want []byte) {
	r := rand.New(rand.NewPCG(uint64(ranks), uint64(n)))
	vectors = make([][]byte, ranks)
	level := make([][]byte, ranks)
	for i := range vectors {
		vectors[i] = make([]byte, n)
		for k := range floats(vectors[i]) {
			floats(vectors[i])[k] = r.Float32() - 0.5
		}
		level[i] = bytes.Clone(vectors[i])
	}
	for ; len(level) > 1; level = level[:(len(level)+1)/2] {
		for a := 0; a+1 < len(level); a += 2 {
			Sum(level[a], level[a], level[a+1])
			level[a/2] = level[a]
		}
		if len(level)%2 == 1 {
			level[len(level)/2] = level[len(level)-1]
		}
	}
	return vectors, level[0]
}

// MergeAll has all ranks merge vectors, every other one in place, and compares bit by bit. With ToRoot the rank
// that is seq modulo their number has the result.
func MergeAll[E transport.Merger](t *testing.T, all []E, to transport.Merged, seq, n int) {
	t.Helper()
	merge(t, all, to, seq, n, func(rank int) bool { return (rank+seq)%2 == 0 })
}

// MergeApart is MergeAll without vectors in place.
func MergeApart[E transport.Merger](t *testing.T, all []E, to transport.Merged, seq, n int) {
	t.Helper()
	merge(t, all, to, seq, n, func(int) bool { return false })
}

func merge[E transport.Merger](t *testing.T, all []E, to transport.Merged, seq, n int, isInPlace func(rank int) bool) {
	t.Helper()
	root, block := seq%len(all), n/len(all)
	vectors, want := Vectors(len(all), n)
	var ranks sync.WaitGroup
	for r, e := range all {
		ranks.Go(func() {
			in, inPlace := bytes.Clone(vectors[r]), isInPlace(r)
			out, want := in, want
			switch {
			case to == transport.ToRoot && r != root:
				out, want, inPlace = nil, nil, false
			case to == transport.ToBlocks:
				out, want = in[r*block:][:block], want[r*block:][:block]
			}
			if !inPlace {
				out = make([]byte, len(want)+12)[12:] // where no line begins
			}
			m := &transport.Merge{Header: &transport.Header{Seq: uint64(seq)}, To: to, Root: root, In: in, Out: out, Combine: Sum, On: func(int) {}}
			if err := e.Merge(m); err != nil {
				t.Errorf("rank %d of %d, %d bytes: %v", r, len(all), n, err)
				return
			}
			if !bytes.Equal(out, want) {
				t.Errorf("rank %d of %d has another sum of %d bytes", r, len(all), n)
			}
			if !inPlace && !bytes.Equal(in, vectors[r]) {
				t.Errorf("rank %d of %d: the vector of %d bytes was changed", r, len(all), n)
			}
			clear(in)
			clear(out)
		})
	}
	ranks.Wait()
}
