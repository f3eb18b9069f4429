package cpu

import (
	"math"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// A C of few tiles has its depth shared out, where there is enough of it.
const (
	splitTiles  = 16
	splitBlocks = 8
)

// split computes a small C of a long depth: blocks of it in parallel, their sums
// added to C in order. It reads A and B once, which is the limit.
func (p *product[T]) split(blocks int) error {
	var t T
	g, width := p.grid(), p.c.cols
	size := p.c.rows * width
	packed := (g.down*p.packedA()+g.across*g.width)*depthBlock + maxTileCols
	rooms := newRooms(p.alloc, int64(packed)*int64(unsafe.Sizeof(t)))
	defer rooms.release()
	sumsOf, err := memory.New(p.alloc, int64(size)*int64(unsafe.Sizeof(t)))
	if err != nil {
		return err
	}
	defer sumsOf.Release()
	whole := memory.View[T](sumsOf)
	p.scale(0, p.c.rows, 0, width)
	for i := range p.c.rows {
		copy(whole[i*width:][:width], p.c.v[i*p.c.row:])
	}
	var none [maxTileCols]T // -0, to which a sum is added to the bit
	for i := range none {
		none[i] = T(math.Copysign(0, -1))
	}
	directA, directB := p.directA(g.across), p.directB(g.across)
	var team private[worker[T]]
	err = inBlocks(p.ctx, p.matrixLoops, p.alloc, blocks, whole, p.alpha, func(worker, block int, sums []T) error {
		room, err := rooms.get(worker)
		if err != nil {
			return err
		}
		o := operands[T]{bottom: g.down, right: g.across, k: block * depthBlock}
		o.depth = min(depthBlock, p.depth-o.k)
		b := memory.View[T](room)
		if !directB {
			p.packB(b, &g, &o)
			o.b = b
		}
		if a := b[g.across*g.width*depthBlock:]; !directA {
			p.packA(a, &g, &o)
			o.a = a
		}
		p.multiply(team.of(worker), &g, &o, &result[T]{from: none[:], to: sums, rowTo: width, alpha: 1})
		return nil
	})
	if err != nil {
		return err
	}
	if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
		return err
	}
	for i := range p.c.rows {
		copy(p.c.v[i*p.c.row:][:width], whole[i*width:])
	}
	return nil
}
