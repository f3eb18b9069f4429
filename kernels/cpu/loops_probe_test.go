package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkProbe looks batches of keys up at random in tables of so many bytes, on
// each tier: in a join's array, in its places, and in a grouping's slots.
func BenchmarkProbe(b *testing.B) {
	r := rand.New(rand.NewPCG(testSeed, 1))
	names, all := available()
	const n = batchRows
	ids, hashes := make([]uint32, n), make([]uint64, 1<<17)
	to := &seekRoom{make([]uint32, n), make([]uint64, n), make([]uint32, n), make([]uint32, n)}
	for _, size := range []int{1 << 14, 1 << 20, 1 << 26} {
		dense, slots := make([]uint32, size/4), make([]tallySlot[int64], size/24&^7)
		in := &seekIn{slots: make([]uint64, size/8+2), region: uint64(size / 8), stride: uint64(size / 8)}
		for i := range hashes {
			hashes[i] = r.Uint64()
		}
		for i, k := 0, uint64(0); i < size/16; i, k = i+1, k+1 {
			h := r.Uint64()
			if i < len(hashes) {
				h = hashes[i]
			}
			at := in.start(h)
			for ; at < uint64(len(in.slots))-3 && in.slots[at] != 0; at++ {
			}
			in.slots[at] = h<<32 | k + 1
		}
		near, records := make([]uint64, len(hashes)), make([]tallyRecord, len(hashes))
		for i, h := range hashes {
			near[i], records[i].word = h%uint64(len(dense)), h
		}
		mask := uint64(1)
		for 2*mask <= uint64(len(slots)) {
			mask *= 2
		}
		shift := uint64(0)
		for ^uint64(0)>>shift >= mask {
			shift++
		}
		for i := range hashes {
			slots[hashes[i]>>shift&(mask-1)].word = hashes[i]
		}
		for t, l := range all {
			batches := func(what string, f func(at int)) {
				b.Run(fmt.Sprintf("op=%s/bytes=%d/tier=%s", what, size, names[t]), func(b *testing.B) {
					b.SetBytes(n * 8)
					for i := range b.N {
						f(i * n & (len(hashes) - 1))
					}
				})
			}
			batches("close", func(at int) { l.place.close(ids, near[at:][:n], 0, uint64(len(dense)-1), dense) })
			batches("seek", func(at int) { l.place.seek(to, in, hashes[at:][:n], hashes[at:][:n]) })
			batches("look", func(at int) {
				if l.sieve.look == nil {
					lookHashes(slots[:mask], records[at:][:n], ids, uint(shift), 0)
					return
				}
				l.sieve.look(ids, recordWords(records[at:][:n]), &slots[0].word, shift, mask-1, 0)
			})
		}
	}
}
