package cpu

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// evalBlock is the rows that a worker is at: where the values of each step lie,
// and the bitmap of those that are not null, nil where none is.
type evalBlock struct {
	ctx     context.Context
	from, n int64
	values  []unsafe.Pointer
	valid   []unsafe.Pointer
	longest []int // the bits of the longest value of a step of decimals
	moving  []evalMoving
	room    unsafe.Pointer
	held    *memory.Buffer
}

// evalMoving is an address that moves on with the rows.
type evalMoving struct {
	to    *unsafe.Pointer
	base  unsafe.Pointer
	width int64 // of a value in bytes; 0 for bits
}

// block is the scratch of one more worker.
func (p *evalPlan) block() (*evalBlock, error) {
	held, err := memory.New(p.alloc, max(p.room*p.times, 64))
	if err != nil {
		return nil, err
	}
	n := len(p.steps)
	b := &evalBlock{values: make([]unsafe.Pointer, n), valid: make([]unsafe.Pointer, n), longest: make([]int, n), room: unsafe.Pointer(unsafe.SliceData(held.Bytes())), held: held}
	put := func(to *unsafe.Pointer, at evalPlace, width int64) {
		switch {
		case at.here:
			*to = unsafe.Add(b.room, at.at*p.times)
		case at.base != nil:
			b.moving = append(b.moving, evalMoving{to, at.base, width})
		}
	}
	for i, s := range p.steps {
		put(&b.values[i], s.values, s.width)
		put(&b.valid[i], s.valid, 0)
	}
	for i, st := range p.program.Steps {
		if st.Kind == kernels.StepScalar && st.Type.ID() == arrow.DECIMAL128 && st.Value.Valid() {
			b.longest[i] = lengthOf(int64(st.Value.Uint64()))
		}
	}
	for _, i := range p.copies {
		if p.steps[i].null {
			clear(bitsAt(b.valid[i], evalRows))
		}
		p.fill(b, i, p.program.Steps[i].Value)
	}
	return b, nil
}

// fill makes evalRows copies of a value.
func (p *evalPlan) fill(b *evalBlock, i int, v kernels.Scalar) {
	word := v.Uint64()
	switch p.steps[i].width {
	case 0:
		memory.Bitmap(bitsAt(b.values[i], evalRows)).Fill(0, evalRows, v.Bool())
	case 1:
		fillLanes(b.values[i], uint8(word))
	case 2:
		fillLanes(b.values[i], uint16(word))
	case 4:
		fillLanes(b.values[i], uint32(word))
	default:
		fillLanes(b.values[i], word)
	}
}

func fillLanes[T unsigned](at unsafe.Pointer, v T) {
	for i, s := 0, lanesAt[T](at, evalRows); i < len(s); i++ {
		s[i] = v
	}
}

// move makes the n rows from a row on those at hand.
func (b *evalBlock) move(from, n int64) {
	b.from, b.n = from, n
	for _, m := range b.moving {
		if m.width == 0 {
			*m.to = unsafe.Add(m.base, from>>3)
		} else {
			*m.to = unsafe.Add(m.base, from*m.width)
		}
	}
}

// stepValues are the values of a step.
func stepValues[T number](b *evalBlock, i int) []T { return lanesAt[T](b.values[i], b.n) }

func lanesAt[T number](at unsafe.Pointer, n int64) []T { return unsafe.Slice((*T)(at), n) }

// bitsAt are n bits, as whole bytes.
func bitsAt(at unsafe.Pointer, n int64) []byte { return unsafe.Slice((*byte)(at), (n+7)>>3) }

// bitmap is the values of a step of bits.
func (b *evalBlock) bitmap(i int) []byte { return bitsAt(b.values[i], b.n) }

// isNull reports whether row k of a step is null.
func (b *evalBlock) isNull(i int, k int64) bool {
	return b.valid[i] != nil && !memory.Bitmap(bitsAt(b.valid[i], b.n)).Get(k)
}

// truths are 64 rows of a step of bits, or those that are left, from a row on:
// where it is known to be true and where it is known to be false.
func (b *evalBlock) truths(i int, from int64) (yes, no uint64) {
	n := min(64, b.n-from)
	valid := lowBits(n)
	yes = memory.Bitmap(b.bitmap(i)).Word(from, n)
	if b.valid[i] != nil {
		valid = memory.Bitmap(bitsAt(b.valid[i], b.n)).Word(from, n)
	}
	return yes & valid, ^yes & valid
}
