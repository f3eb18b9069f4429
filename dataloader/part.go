package dataloader

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// Part is a tensor that every batch has: which columns, and how they lie.
type Part struct {
	Columns     []int          // of the source, in the order of the tensor
	Type        arrow.DataType // of the elements
	ColumnMajor bool           // a column's elements follow each other, else a row's do
	Mask        bool           // with Valid
	// From and Steps make a row of Steps rows of the source, from the From-th after
	// the row that is asked for. A Reader is only asked for Steps 0: one row.
	From, Steps int64
	// Encodings are those of the columns that have one, in the order of Columns;
	// nil means that none has.
	Encodings []*Encoding
}

// encoding is that of column i, nil where there is none.
func (p *Part) encoding(i int) *Encoding {
	if p.Encodings == nil {
		return nil
	}
	return p.Encodings[i]
}

// elements is how many columns the tensor has.
func (p *Part) elements() int64 {
	n := int64(0)
	for i := range p.Columns {
		n += p.encoding(i).elements()
	}
	return n
}

// lists reports whether the part is a column of lists, which has offsets.
func (p *Part) lists() bool { return p.encoding(0).kind() == encodeList }

// width is how many bytes an element has.
func (p *Part) width() int64 { return widthOf(p.Type) }

// bytes are the sizes of a part's elements and mask for so many rows.
func (p *Part) bytes(rows int64) (data, mask int64) {
	n := rows * max(1, p.Steps) * p.elements()
	if p.Mask {
		mask = n
	}
	return n * p.width(), mask
}

// shaped is a tensor of so many rows without the memory that it is over.
func (p *Part) shaped(rows int64) Tensor {
	n := p.elements()
	t := Tensor{Type: p.Type, Rows: rows, Columns: n, RowStride: n, ColumnStride: 1}
	switch {
	case p.Steps > 0:
		t.Steps, t.StepStride, t.RowStride = p.Steps, n, n*p.Steps
	case p.ColumnMajor:
		t.RowStride, t.ColumnStride = 1, rows
	}
	return t
}

// over is the tensor of so many rows over memory that has room for them.
func (p *Part) over(rows int64, data, valid []byte, offsets []int64) Tensor {
	t := p.shaped(rows)
	d, m := p.bytes(rows)
	t.Data = data[:d]
	if p.Mask {
		t.Valid = valid[:m]
	}
	if offsets != nil {
		t.Offsets = offsets[:rows+1]
	}
	return t
}

// is reports whether a tensor is one of so many rows of the part.
func (p *Part) is(t *Tensor, rows int64) bool {
	d, m := p.bytes(rows)
	if t.Type == nil || t.Type.ID() != p.Type.ID() || int64(len(t.Data)) != d || int64(len(t.Valid)) != m || p.lists() != (t.Offsets != nil) {
		return false
	}
	want := p.over(rows, t.Data, t.Valid, t.Offsets)
	return t.Rows == want.Rows && t.Columns == want.Columns && t.RowStride == want.RowStride && t.ColumnStride == want.ColumnStride
}

// widthOf is how many bytes an element of a type has.
func widthOf(t arrow.DataType) int64 {
	if isHalf(t) {
		return 2
	}
	return int64(memory.Width(t))
}

// plain is how many columns of a part, of the first ones, have no encoding.
func (p *Part) plain() (n int64) {
	for int(n) < len(p.Columns) && p.encoding(int(n)) == nil {
		n++
	}
	return n
}
