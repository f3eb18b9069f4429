package cpu

import (
	"context"
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// keptRows is up to how many left rows what they found is kept between the
// two passes: 16 MiB. Tables are probed a million rows at a time.
const keptRows = 1 << 22

// probe is one call of Probe.
type probe struct {
	*joinFinder
	ctx     context.Context
	a       *arena
	kind    kernels.JoinKind
	n       int64
	batches batchStash

	outer bool // left rows without a match are kept
	keep  bool // right rows without a match are kept
	pairs bool // there is a right side

	ids    vec[uint32] // what each left row found, where rows are few enough
	found  vec[uint64] // a bit for each left row with a match
	met    vec[uint64] // a bit for each id that was met, then for each right row
	counts []int64     // rows that each morsel gives; then where they begin
	total  int64       // rows that come of left rows
	alone  int64       // left rows without a match
	rest   int64       // right rows that were never met

	left, right vec[uint32]
	nulls       vec[uint32] // of right, a bit for each null
}

// count finds matches and how many rows they give.
func (p *probe) count() (err error) {
	if p.found, err = zeroVec[uint64](p.a, int(p.n+63)/64); err != nil {
		return err
	}
	if p.pairs && p.n <= keptRows {
		if p.ids, err = newVec[uint32](p.a, int(p.n)); err != nil {
			return err
		}
	}
	if p.keep {
		if p.met, err = zeroVec[uint64](p.a, int(p.joinIndex.n+63)/64); err != nil {
			return err
		}
	}
	var alone atomic.Int64
	err = parallel(p.ctx, p.n, func(_ int, s span) error {
		b, _ := p.batches.get()
		defer p.batches.put(b)
		matched, rows := int64(0), int64(0)
		for from := s.from; from < s.to; from += batchRows {
			b.span(from, int(min(batchRows, s.to-from)))
			p.find(b)
			if p.ids.b != nil {
				copy(p.ids.s[from:], b.ids[:b.n])
			}
			matched += p.note(b)
			if !p.unique && p.pairs {
				for _, id := range b.ids[:b.n] {
					if id != 0 {
						rows += int64(p.offsets.s[id] - p.offsets.s[id-1])
					}
				}
			}
		}
		if p.unique {
			rows = matched
		}
		without := s.to - s.from - matched
		switch {
		case p.kind == kernels.SemiJoin:
			rows = matched
		case p.kind == kernels.AntiJoin:
			rows = without
		case p.outer:
			rows += without
			alone.Add(without)
		}
		p.counts[s.index] = rows
		return nil
	})
	if err != nil {
		return err
	}
	p.alone = alone.Load()
	for i, rows := range p.counts {
		p.counts[i] = p.total
		p.total += rows
	}
	if p.keep {
		return p.unmet()
	}
	return nil
}

// note sets the bits of a batch of rows in order and counts them.
func (p *probe) note(b *batch) int64 {
	matched := 0
	clear(b.marks[:]) // words of rows behind the last are read
	comparisonsOf[uint32](p.l).scalar[kernels.NotEqual](b.marks[:(b.n+7)/8], b.ids[:b.n], 0)
	for j := 0; j < b.n; j += 64 {
		w := binary.LittleEndian.Uint64(b.marks[j/8:])
		p.found.s[(int(b.from)+j)>>6] = w
		matched += bits.OnesCount64(w)
	}
	if p.keep {
		for _, id := range b.ids[:b.n] {
			if id != 0 {
				at, bit := &p.met.s[(id-1)>>6], uint64(1)<<((id-1)&63)
				if atomic.LoadUint64(at)&bit == 0 {
					atomic.OrUint64(at, bit)
				}
			}
		}
	}
	return int64(matched)
}

// unmet turns the bits of ids into those of right rows and counts the rows
// that have none.
func (p *probe) unmet() error {
	if !p.unique {
		rows, err := zeroVec[uint64](p.a, int(p.length+63)/64)
		if err != nil {
			return err
		}
		for id := range uint32(p.joinIndex.n) {
			if p.met.s[id>>6]>>(id&63)&1 != 0 {
				for at := p.offsets.s[id]; at < p.offsets.s[id+1]; at++ {
					row := at
					if p.rows.b != nil {
						row = p.rows.s[at]
					}
					rows.s[row>>6] |= 1 << (row & 63)
				}
			}
		}
		p.a.drop(p.met.b)
		p.met = rows
	}
	p.rest = p.length
	for _, w := range p.met.s {
		p.rest -= int64(bits.OnesCount64(w))
	}
	return nil
}

// write writes the pairs, each morsel where counts says.
func (p *probe) write() (err error) {
	if p.left, err = newVec[uint32](p.a, int(p.total+p.rest)); err != nil {
		return err
	}
	if p.unique && p.ids.b != nil && p.total == p.n && p.alone == 0 && p.rest == 0 {
		return p.writeAll()
	}
	if p.pairs {
		if p.right, err = newVec[uint32](p.a, int(p.total+p.rest)); err != nil {
			return err
		}
	}
	if p.alone > 0 {
		if p.nulls, err = zeroVec[uint32](p.a, int(p.total+p.rest+31)/32); err != nil {
			return err
		}
	}
	err = parallel(p.ctx, p.n, func(_ int, s span) error {
		b, _ := p.batches.get()
		defer p.batches.put(b)
		at := p.counts[s.index]
		for from := s.from; from < s.to; from += batchRows {
			if p.ctx.Err() != nil { // a batch may give many pairs
				return device.Canceled(p.ctx, "cpu", "join_probe")
			}
			n := int(min(batchRows, s.to-from))
			switch {
			case p.kind == kernels.SemiJoin:
				at += int64(p.pick(p.left.s[at:], from, n, 0))
			case p.kind == kernels.AntiJoin:
				at += int64(p.pick(p.left.s[at:], from, n, ^uint64(0)))
			case p.outer:
				b.span(from, n)
				p.findAgain(b)
				at = p.writeBatch(b, at)
			default:
				k := p.pick(b.own[:], from, n, 0)
				if k == 0 {
					continue
				}
				if b.span(from, n); k < n {
					b.gather(b.own[:k])
				}
				p.findAgain(b)
				at = p.writeBatch(b, at)
			}
		}
		return nil
	})
	if err == nil && p.rest > 0 {
		p.writeRest()
	}
	return err
}

// writeAll writes the pairs where each left row has one: what the rows found
// becomes the right side in place.
func (p *probe) writeAll() error {
	p.right, p.ids = p.ids, vec[uint32]{}
	return parallel(p.ctx, p.n, func(_ int, s span) error {
		right := p.right.s[s.from:s.to]
		left := p.left.s[s.from:s.to]
		for i := range right {
			left[i] = uint32(s.from) + uint32(i)
			right[i]--
		}
		return nil
	})
}

// findAgain is find for rows that were looked up before.
func (p *probe) findAgain(b *batch) {
	switch {
	case p.ids.b == nil:
		p.find(b)
	case b.rows == nil:
		copy(b.ids[:b.n], p.ids.s[b.from:])
	default:
		for j, row := range b.rows {
			b.ids[j] = p.ids.s[row]
		}
	}
}

// pick lists the rows of [from, from+n) that have a match, or with flip those
// that have none.
func (p *probe) pick(into []uint32, from int64, n int, flip uint64) int {
	k := 0
	for j := 0; j < n; j += 64 {
		w := p.found.s[(int(from)+j)>>6] ^ flip
		if n-j < 64 {
			w &= 1<<(n-j) - 1
		}
		for ; w != 0; w &= w - 1 {
			into[k] = uint32(from) + uint32(j+bits.TrailingZeros64(w))
			k++
		}
	}
	return k
}

func (p *probe) writeBatch(b *batch, at int64) int64 {
	left, right := p.left.s, p.right.s
	if p.unique && !p.outer {
		for j, id := range b.ids[:b.n] {
			left[at+int64(j)], right[at+int64(j)] = b.row(j), id-1
		}
		return at + int64(b.n)
	}
	for j, id := range b.ids[:b.n] {
		row := b.row(j)
		if id == 0 {
			left[at], right[at] = row, 0
			atomic.OrUint32(&p.nulls.s[at>>5], 1<<(at&31))
			at++
			continue
		}
		for range p.put(right[at:], id-1) {
			left[at] = row
			at++
		}
	}
	return at
}

// writeRest writes the right rows that were never met after all others.
func (p *probe) writeRest() {
	at := p.total
	for i, w := range p.met.s {
		for w = ^w; w != 0; w &= w - 1 {
			row := int64(i<<6 + bits.TrailingZeros64(w))
			if row >= p.length {
				break
			}
			p.left.s[at], p.right.s[at] = 0, uint32(row)
			at++
		}
	}
}

func (p *probe) result() (*kernels.Pairs, error) {
	var valid *memory.Buffer
	var err error
	if p.rest > 0 {
		if valid, err = memory.NewZeroed(p.a.alloc, memory.BitmapBytes(p.total+p.rest)); err != nil {
			return nil, err
		}
		memory.Bitmap(valid.Bytes()).Fill(0, p.total, true)
	}
	out := new(kernels.Pairs)
	if out.Left, err = indexColumn(p.a, p.left, valid, p.rest); err != nil || !p.pairs {
		return out, err
	}
	if valid = nil; p.alone > 0 {
		for i := range p.nulls.s {
			p.nulls.s[i] = ^p.nulls.s[i]
		}
		valid = p.a.keep(p.nulls.b)
	}
	if out.Right, err = indexColumn(p.a, p.right, valid, p.alone); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}
