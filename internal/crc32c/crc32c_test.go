package crc32c

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/internal/guard"
)

// Sums are those of hash/crc32, at all lengths about a turn's, at all places, and behind
// other bytes.
func TestUpdate(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, 70<<10)
	for i := range all {
		all[i] = byte(r.Uint32())
	}
	lengths := []int{64 << 10, 64<<10 + 255, 70 << 10}
	for n := range 3 << 10 {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		at := r.IntN(min(65, len(all)-n+1))
		p, before := all[at:at+n], r.Uint32()
		if got, want := Update(before, p), crc32.Update(before, table, p); got != want {
			t.Fatalf("%d bytes at %d behind %08x: %08x, must be %08x", n, at, before, got, want)
		}
		if got, want := Checksum(p), crc32.Checksum(p, table); got != want {
			t.Fatalf("%d bytes at %d: %08x, must be %08x", n, at, got, want)
		}
	}
}

// Nothing before or behind the bytes is read.
func TestAtUnmappedPages(t *testing.T) {
	for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
		a, r := guard.New(mode), rand.New(rand.NewPCG(3, 4))
		for n := 1; n < 3<<10; n += 1 + n/100 {
			b, err := a.Allocate(int64(n))
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Bytes {
				b.Bytes[i] = byte(r.Uint32())
			}
			if got, want := Checksum(b.Bytes), crc32.Checksum(b.Bytes, table); got != want {
				t.Fatalf("%d bytes: %08x, must be %08x", n, got, want)
			}
			a.Free(b)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{4 << 10, 256 << 10, 16 << 20} {
		p := make([]byte, n)
		for name, update := range map[string]func(uint32, []byte) uint32{
			"vectors": Update, "hash": func(s uint32, p []byte) uint32 { return crc32.Update(s, table, p) },
		} {
			b.Run(fmt.Sprintf("way=%s/size=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for range b.N {
					update(0, p)
				}
			})
		}
	}
}
