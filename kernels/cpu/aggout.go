package cpu

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// aggOut is a column of results in the making. Workers write different rows of
// it at once; bits of one word are set atomically.
type aggOut struct {
	a      *arena
	t      arrow.DataType
	n      int
	nulls  vec[uint32] // a bit for each null
	values *memory.Buffer
	bits   vec[uint32]
	rows   vec[uint32] // results that are the value of a row: row+1, 0 for null
	of     *memory.Column
	dict   *memory.Column // behind values that are indices
}

// start allocates n results.
func (o *aggOut) start(n int) (err error) {
	o.n = n
	if o.of != nil {
		o.rows, err = zeroVec[uint32](o.a, n)
		return err
	}
	if o.nulls, err = zeroVec[uint32](o.a, (n+31)/32); err != nil {
		return err
	}
	if o.t.ID() == arrow.BOOL {
		o.bits, err = zeroVec[uint32](o.a, (n+31)/32)
		o.values = o.bits.b
		return err
	}
	v, err := newVec[byte](o.a, n*memory.Width(o.t))
	o.values = v.b
	return err
}

func setBit(words []uint32, i uint32) { atomic.OrUint32(&words[i>>5], 1<<(i&31)) }

func (o *aggOut) null(at uint32) {
	if o.of == nil {
		setBit(o.nulls.s, at)
	}
}

// column is the finished column.
func (o *aggOut) column() (*memory.Column, error) {
	if o.of != nil {
		return gatherValues(o.a, o.of, o.rows.s)
	}
	p := memory.Parts{Type: o.t, Len: int64(o.n), Buffers: []*memory.Buffer{nil, nil}}
	p.Nulls, p.Buffers[0] = o.validity()
	p.Buffers[1], p.Dictionary = o.a.keep(o.values), o.dict.Retain()
	return memory.NewColumn(p)
}

// validity turns the bits of nulls into a bitmap of values, nil where there are
// no nulls.
func (o *aggOut) validity() (nulls int64, valid *memory.Buffer) {
	b := o.nulls.b
	if nulls = memory.Bitmap(b.Bytes()).Count(0, int64(o.n)); nulls == 0 {
		o.a.drop(b)
		return 0, nil
	}
	for i := range o.nulls.s {
		o.nulls.s[i] = ^o.nulls.s[i]
	}
	return nulls, o.a.keep(b)
}

// text is the finished column of texts that were written elsewhere.
func (o *aggOut) text(offsets, bytes *memory.Buffer) (*memory.Column, error) {
	nulls, valid := o.validity()
	return memory.NewColumn(memory.Parts{Type: o.t, Len: int64(o.n), Nulls: nulls,
		Buffers: []*memory.Buffer{valid, o.a.keep(offsets), o.a.keep(bytes)}})
}
