package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// leftRows are rows of a result in left order, on their way.
type leftRows struct {
	from  int64       // the first left row
	n     int         // pairs
	rows  vec[uint32] // left rows of pairs
	right *memory.Buffer
	same  bool // each left row from the first on comes once: rows may be left out
}

// rightWidth is how many bytes a pair has of the right side, 0 if it is the key alone.
func (j *columnsJoin) rightWidth() int {
	switch {
	case j.right.carried != nil:
		return memory.Width(j.right.carried.Type())
	case j.right.numbers:
		return 4
	}
	return 0
}

// columns are the columns of rows in left order. Left columns whose rows all come once
// are those of the left side.
func (j *columnsJoin) columns(ctx context.Context, b *leftRows) (columns []*memory.Column, err error) {
	numbered := func(v *memory.Buffer) (*memory.Column, error) {
		return memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint32, Len: int64(b.n), Buffers: []*memory.Buffer{nil, v.Retain()}})
	}
	var rows, rights *memory.Column // numbers of rows
	if !b.same {
		if rows, err = numbered(b.rows.b); err != nil {
			return nil, err
		}
		defer rows.Release()
	}
	if j.right.numbers {
		if rights, err = numbered(b.right); err != nil {
			return nil, err
		}
		defer rights.Release()
	}
	left := func(c *memory.Column) (*memory.Column, error) {
		if b.same {
			return c.Slice(b.from, int64(b.n))
		}
		return j.l.takeColumn(ctx, j.stream, c, rows, kernels.TakeOptions{Trusted: true})
	}
	for i, c := range append(append([]*memory.Column(nil), j.left.Columns...), j.right.Columns...) {
		var made *memory.Column
		switch {
		case i < len(j.left.Columns):
			made, err = left(c)
		case c == j.right.key:
			made, err = left(j.left.key)
		case c == j.right.carried:
			made, err = j.firstOf(c.Type(), b.right, b.n)
		default:
			made, err = j.l.takeColumn(ctx, j.stream, c, rights, kernels.TakeOptions{Trusted: true})
		}
		if err != nil {
			releaseAll(columns)
			return nil, err
		}
		columns = append(columns, made)
	}
	return columns, nil
}
