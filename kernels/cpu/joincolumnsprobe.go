package cpu

import (
	"context"
	"math/bits"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/slots"
)

// joinStep is how many left rows look for their partners at a time.
const joinStep = 128

// joinRoom is a worker's room for one part: its right rows by buckets.
type joinRoom struct {
	ends    vec[uint32]     // of each bucket, one after its number; bucket 0 begins at 0
	records vec[joinRecord] // and two that are no partner of any row
	back    uint            // of a hash without the part's bits, what is shifted out for the bucket
	cut     uint

	pairs   joinPairs
	crowded [joinStep]uint8 // left rows whose bucket has more than two rows
}

// joinPairs are pairs on their way out.
type joinPairs struct{ hash, left, right [2 * joinStep]uint64 }

// build puts the right rows of a part in buckets, in the order that they have: a
// pass that counts and one that writes, both without branches.
func (r *joinRoom) build(ctx context.Context, l *loops, a *arena, right []joinRecord, cut uint) error {
	size := slots.First(1 << max(2, min(20, bits.Len(uint(len(right)+len(right)/2)))))
	r.cut, r.back = cut, uint(64-bits.Len(uint(size-1)))
	if err := r.ends.resize(a, size+1); err != nil {
		return err
	}
	if cap(r.records.s) < len(right)+2 {
		a.drop(r.records.b)
		r.records = vec[joinRecord]{}
		var err error
		if r.records, err = newVec[joinRecord](a, len(right)+len(right)/8+2); err != nil {
			return err
		}
	}
	r.records.s = r.records.s[:len(right)+2]
	back := r.back & 63
	cut &= 63
	to, by := counters{all: r.ends.s[1:], n: size}, digit{shift: back - cut, mask: uint64(size - 1), ahead: countAhead}
	err := joinBlocks(ctx, right, func(some []joinRecord) {
		l.histogram.pairs(to, unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(some))), 2*len(some)), by)
	})
	if err != nil {
		return err
	}
	sum := uint32(0)
	for b, k := range r.ends.s[1:] { // where each bucket begins, one after its number
		r.ends.s[b+1] = sum
		sum += k
	}
	err = joinBlocks(ctx, right, func(some []joinRecord) {
		next, to := r.ends.s[1:], r.records.s
		for _, e := range some {
			at := &next[e.hash<<cut>>back]
			to[*at] = e
			*at++
		}
	})
	other := joinRecord{hash: ^right[0].hash} // of another part
	r.records.s[len(right)], r.records.s[len(right)+1] = other, other
	return err
}

func joinBlocks(ctx context.Context, records []joinRecord, f func(some []joinRecord)) error {
	for len(records) > 0 {
		n := min(partBlock, len(records))
		f(records[:n])
		if records = records[n:]; len(records) > 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// pairTaker takes the first n pairs, before others are found.
type pairTaker interface {
	put(p *joinPairs, n int) error
}

// probe gives the pairs of some left rows, at most joinStep. The first two rows of
// each bucket are compared without a branch: what is no partner is written over.
// Hashes that are equal are of one bucket, so that whether a bucket has as many
// need not be asked. Rows of larger buckets come after these.
func (r *joinRoom) probe(ctx context.Context, left []joinRecord, o pairTaker) error {
	ends, records, p := r.ends.s, r.records.s, &r.pairs
	cut, back := r.cut&63, r.back&63
	at, crowds := 0, 0
	for i := range left {
		e := &left[i]
		b := e.hash << cut >> back
		from, to := ends[b], ends[b+1]
		first, second := &records[from], &records[from+1]
		p.hash[at&(2*joinStep-1)], p.left[at&(2*joinStep-1)], p.right[at&(2*joinStep-1)] = e.hash, e.carried, first.carried
		if first.hash == e.hash {
			at++
		}
		p.hash[at&(2*joinStep-1)], p.left[at&(2*joinStep-1)], p.right[at&(2*joinStep-1)] = e.hash, e.carried, second.carried
		if second.hash == e.hash {
			at++
		}
		r.crowded[crowds&(joinStep-1)] = uint8(i)
		if to > from+2 {
			crowds++
		}
	}
	if err := o.put(p, at); err != nil {
		return err
	}
	at = 0
	for _, i := range r.crowded[:crowds] {
		e := left[i]
		b := e.hash << cut >> back
		rest := records[ends[b]+2 : ends[b+1]]
		for len(rest) > 0 {
			n := min(joinStep, len(rest))
			if at+n > 2*joinStep {
				if err := o.put(p, at); err != nil {
					return err
				}
				if at = 0; ctx.Err() != nil {
					return device.Canceled(ctx, "cpu", "")
				}
			}
			for k := range rest[:n] {
				p.hash[at&(2*joinStep-1)], p.left[at&(2*joinStep-1)], p.right[at&(2*joinStep-1)] = e.hash, e.carried, rest[k].carried
				if rest[k].hash == e.hash {
					at++
				}
			}
			rest = rest[n:]
		}
	}
	return o.put(p, at)
}
