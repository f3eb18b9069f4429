package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinOut is the pairs that a worker finds: pieces of columns, of one size but for
// the last.
type joinOut struct {
	*columnsJoin
	a      *arena
	rows   int
	pieces []*joinPiece
	open   *joinPiece
}

// joinPiece is room for pairs. A column that no row of the result is made of is nil.
type joinPiece struct {
	n, most          int
	key, left, right *memory.Buffer // left and right: what is carried
}

func newJoinOut(j *columnsJoin) *joinOut { return &joinOut{columnsJoin: j, a: j.a.scratch()} }

// joinPieceRows is how many rows a piece has room for at most, joinPieceLeast at
// least if there may be as many.
const (
	joinPieceRows  = joinGroupPairs / 2
	joinPieceLeast = 1 << 16
)

// more opens a piece: of as many rows as a group's left rows and a little more, of
// which most have one partner, and values of eight bytes of as many bytes as a block.
func (o *joinOut) more() error {
	most := min(joinPieceRows, max(joinPieceLeast, o.blocks*o.left.room))
	p := &joinPiece{most: most}
	room := func(width int) (*memory.Buffer, error) {
		v, err := newVec[byte](o.a, most*width)
		return v.b, err
	}
	var err error
	for _, h := range []*joinHalf{o.left, o.right} {
		for _, c := range h.Columns {
			if err == nil && c == h.key && p.key == nil {
				p.key, err = room(memory.Width(c.Type()))
			}
		}
	}
	carried := func(h *joinHalf) *memory.Buffer {
		var b *memory.Buffer
		switch {
		case err != nil:
		case h.carried != nil:
			b, err = room(memory.Width(h.carried.Type()))
		case h.numbers:
			b, err = room(4)
		}
		return b
	}
	p.left, p.right = carried(o.left), carried(o.right)
	if err != nil {
		return err
	}
	o.open = p
	o.pieces = append(o.pieces, p)
	return nil
}

// put appends the first n pairs.
func (o *joinOut) put(p *joinPairs, n int) error {
	for from := 0; from < n; {
		if o.open == nil || o.open.n == o.open.most {
			if err := o.more(); err != nil {
				return err
			}
		}
		to := o.open
		k := min(n-from, to.most-to.n)
		if to.key != nil {
			putJoinKeys(to.key, memory.Width(o.left.key.Type()), to.n, p.hash[from:][:k])
		}
		if to.left != nil {
			putCarried(to.left, o.left.carried, to.n, p.left[from:][:k])
		}
		if to.right != nil {
			putCarried(to.right, o.right.carried, to.n, p.right[from:][:k])
		}
		to.n += k
		o.rows += k
		from += k
	}
	return nil
}

func putJoinKeys(b *memory.Buffer, width, at int, hashes []uint64) {
	if width == 4 {
		for i, to := 0, memory.View[uint32](b)[at:][:len(hashes)]; i < len(to); i++ {
			to[i] = uint32(wordOf(hashes[i], 0))
		}
		return
	}
	for i, to := 0, memory.View[uint64](b)[at:][:len(hashes)]; i < len(to); i++ {
		to[i] = wordOf(hashes[i], 0)
	}
}

// putCarried writes values of a column, nil for row numbers.
func putCarried(b *memory.Buffer, c *memory.Column, at int, words []uint64) {
	width := 4
	if c != nil {
		width = memory.Width(c.Type())
	}
	switch width {
	case 1:
		narrow(memory.View[uint8](b)[at:], words)
	case 2:
		narrow(memory.View[uint16](b)[at:], words)
	case 4:
		narrow(memory.View[uint32](b)[at:], words)
	default:
		copy(memory.View[uint64](b)[at:], words)
	}
}

func narrow[T uint8 | uint16 | uint32](to []T, words []uint64) {
	for i, w := range words {
		to[i] = T(w)
	}
}

// columns are the pieces as columns of the result.
func (o *joinOut) columns(ctx context.Context) (all [][]*memory.Column, err error) {
	for _, p := range o.pieces {
		var columns []*memory.Column
		for i, h := range []*joinHalf{o.left, o.right} {
			carried := []*memory.Buffer{p.left, p.right}[i]
			var of []*memory.Column
			if of, err = o.side(ctx, h, p, carried); err != nil {
				releaseAll(columns)
				for _, batch := range all {
					releaseAll(batch)
				}
				return nil, err
			}
			columns = append(columns, of...)
		}
		all = append(all, columns)
	}
	return all, nil
}

// side is what the pairs of a piece have of one side.
func (o *joinOut) side(ctx context.Context, h *joinHalf, p *joinPiece, carried *memory.Buffer) (columns []*memory.Column, err error) {
	var rows *memory.Column
	if h.numbers {
		if rows, err = o.firstOf(arrow.PrimitiveTypes.Uint32, carried, p.n); err != nil {
			return nil, err
		}
		defer rows.Release()
	}
	for _, c := range h.Columns {
		var made *memory.Column
		switch {
		case c == h.key:
			made, err = o.firstOf(c.Type(), p.key, p.n)
		case c == h.carried:
			made, err = o.firstOf(c.Type(), carried, p.n)
		default:
			made, err = o.l.takeColumn(ctx, o.stream, c, rows, kernels.TakeOptions{Trusted: true})
		}
		if err != nil {
			releaseAll(columns)
			return nil, err
		}
		columns = append(columns, made)
	}
	return columns, nil
}

// firstOf is the first n values of a buffer, which is retained unless they fill
// less than three quarters of it: then they move.
func (j *columnsJoin) firstOf(t arrow.DataType, b *memory.Buffer, n int) (*memory.Column, error) {
	size := int64(n * memory.Width(t))
	if size >= b.Len()/4*3 {
		return memory.NewColumn(memory.Parts{Type: t, Len: int64(n), Buffers: []*memory.Buffer{nil, b.Retain()}})
	}
	small, err := memory.New(j.alloc, size)
	if err != nil {
		return nil, err
	}
	copy(small.Bytes(), b.Bytes()[:size])
	return memory.NewColumn(memory.Parts{Type: t, Len: int64(n), Buffers: []*memory.Buffer{nil, small}})
}
