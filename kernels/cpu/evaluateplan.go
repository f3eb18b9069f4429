package cpu

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// evalPlan is a program with the loops of its steps.
type evalPlan struct {
	l       *loops
	alloc   memory.Allocator
	program *kernels.Program
	rows    int64
	columns []*memory.Column

	steps  []evalStep // those of the program, and copies of scalars that are results
	work   []evalLoop
	outs   []evalOut
	room   int64             // bytes of a worker's scratch
	idle   map[int64][]int64 // places in it that are free again, by width
	copies []int             // the scalars of which scratch has copies
	values bool              // there are more than bits in scratch
	times  int64             // how many times evalRows are a block
}

// evalLoop computes a step, or a part of one, for the block at hand. It reports
// false where a row that is not null has no value.
type evalLoop func(b *evalBlock) bool

// evalStep is what is known of a step. Its values and validity are at a place of
// a worker's scratch, or in memory of all rows.
type evalStep struct {
	width         int64 // of a value in bytes; 0 for bits
	last          int   // the last step that reads it
	null          bool  // a row may be null
	values, valid evalPlace
}

// evalPlace is where one of a step's buffers is: from base on, of row 0, or in
// scratch. The zero evalPlace is none.
type evalPlace struct {
	base unsafe.Pointer
	at   int64
	here bool // in scratch
}

// evalOut is a result that the loops write, and the program's step that it is of.
type evalOut struct {
	step int
	out  *out
}

// plan finds the loops of a program. It is to be released also with an error.
func (l *loops) plan(s device.Stream, program *kernels.Program, rows int64, columns []*memory.Column) (*evalPlan, error) {
	p := &evalPlan{l: l, alloc: s.Device().Memory(), program: program, rows: rows, columns: columns,
		steps: make([]evalStep, len(program.Steps)), idle: map[int64][]int64{}}
	for i, st := range program.Steps {
		switch {
		case st.Type.ID() == arrow.DECIMAL128:
			p.steps[i].width = 8
		case memory.LayoutOf(st.Type) != memory.LayoutBits:
			p.steps[i].width = int64(memory.Width(st.Type))
		}
		for _, a := range st.Args {
			p.steps[a].last = i
		}
	}
	for i, st := range program.Steps {
		isResult := slices.Contains(program.Results, i)
		switch {
		case st.Kind == kernels.StepColumn:
			p.column(i, columns[st.Column])
			continue
		case st.Kind == kernels.StepScalar:
			p.steps[i].null = !st.Value.Valid()
			p.decimalScalar(i)
			if err := p.scalarResult(s, i, isResult); err != nil {
				return p, err
			}
			continue
		}
		p.steps[i].null = p.nullable(st)
		if inPlace(st) {
			p.free(i)
		}
		decimal := st.Type.ID() == arrow.DECIMAL128
		if isResult && !decimal {
			if err := p.result(s, i, i); err != nil {
				return p, err
			}
		} else {
			p.inScratch(i)
		}
		p.compute(i)
		if isResult && decimal {
			if err := p.decimalResult(s, i); err != nil {
				return p, err
			}
		}
		p.free(i)
	}
	return p, nil
}

// nullable reports whether a row of a step may be null.
func (p *evalPlan) nullable(st kernels.Step) bool {
	null := func(k int) bool { return p.steps[st.Args[k]].null }
	switch st.Kind {
	case kernels.StepIsNull:
		return false
	case kernels.StepFillNull:
		return null(0) && null(1)
	}
	for k := range st.Args {
		if null(k) {
			return true
		}
	}
	return false
}

// inPlace reports whether a step's loop may write over what it reads: one that
// reads each row once, before it writes that row.
func inPlace(st kernels.Step) bool {
	return st.Kind == kernels.StepArithmetic && plainLoop(st)
}

// place is room in scratch for values of a width.
func (p *evalPlan) place(width int64) evalPlace {
	if free := p.idle[width]; len(free) > 0 {
		p.idle[width] = free[:len(free)-1]
		return evalPlace{at: free[len(free)-1], here: true}
	}
	return p.kept(width)
}

// kept is room that no other step gets, counted as if a block were evalRows. Bitmaps of validity, which may be those
// of several steps, are kept, and so are copies of scalars, which are made once.
func (p *evalPlan) kept(width int64) evalPlace {
	at := p.room
	p.values = p.values || width > 0
	p.room += max(evalRows*width, evalRows/8)
	return evalPlace{at: at, here: true}
}

// inScratch gives a step places in scratch.
func (p *evalPlan) inScratch(i int) {
	p.steps[i].values = p.place(p.steps[i].width)
	if p.steps[i].null {
		p.steps[i].valid = p.kept(0)
	}
}

// free makes the values idle that step i is the last to read.
func (p *evalPlan) free(i int) {
	for _, a := range p.program.Steps[i].Args {
		s := &p.steps[a]
		if s.last == i && s.values.here && p.program.Steps[a].Kind != kernels.StepScalar {
			p.idle[s.width] = append(p.idle[s.width], s.values.at)
			s.last = len(p.steps) // freed once
		}
	}
}

// copied makes copies of a scalar, for a loop that reads a column.
func (p *evalPlan) copied(i int) {
	if p.program.Steps[i].Kind == kernels.StepScalar && !p.steps[i].values.here {
		p.steps[i].values = p.kept(p.steps[i].width)
		if p.steps[i].null {
			p.steps[i].valid = p.kept(0)
		}
		p.copies, p.values = append(p.copies, i), true
	}
}

// column sets the places of a column; of bits that do not begin with a byte,
// loops make a copy.
func (p *evalPlan) column(i int, c *memory.Column) {
	if p.rows == 0 {
		return
	}
	s := &p.steps[i]
	bits := func(from memory.Bitmap) evalPlace {
		if c.Offset()&7 == 0 {
			return evalPlace{base: unsafe.Pointer(&from[c.Offset()>>3])}
		}
		to := p.kept(0)
		p.work = append(p.work, func(b *evalBlock) bool {
			memory.Bitmap(bitsAt(unsafe.Add(b.room, to.at*p.times), b.n)).CopyFrom(0, from, c.Offset()+b.from, b.n)
			return true
		})
		return to
	}
	switch {
	case s.width == 0:
		s.values = bits(c.Bits())
	case c.Type().ID() == arrow.DECIMAL128:
		p.decimalColumn(i, c)
	default:
		s.values.base = unsafe.Pointer(&c.Buffer(1).Bytes()[c.Offset()*s.width])
	}
	if s.null = c.MayHaveNulls() && c.Validity() != nil; s.null {
		s.valid = bits(c.Validity())
	}
}

// result has step i write a result: that of the program's step of.
func (p *evalPlan) result(s device.Stream, i, of int) error {
	o := newOut(s, p.program.Steps[of].Type, p.rows)
	p.outs = append(p.outs, evalOut{of, o})
	to := &p.steps[i]
	var err error
	if to.width == 0 {
		err = o.bits()
	} else {
		err = o.values()
	}
	if err == nil && to.null {
		o.parts.Buffers[0], err = newBits(o.alloc, p.rows)
	}
	if err == nil && p.rows > 0 {
		to.values.base = unsafe.Pointer(unsafe.SliceData(o.parts.Buffers[1].Bytes()))
		if to.null {
			to.valid.base = unsafe.Pointer(unsafe.SliceData(o.parts.Buffers[0].Bytes()))
		}
	}
	return err
}

// scalarResult makes copies of a scalar where they are asked for by their
// validity, or as a result.
func (p *evalPlan) scalarResult(s device.Stream, i int, isResult bool) error {
	if p.steps[i].null || isResult {
		p.copied(i)
	}
	if !isResult {
		return nil
	}
	if p.program.Steps[i].Type.ID() == arrow.DECIMAL128 {
		return p.decimalResult(s, i)
	}
	to := len(p.steps)
	p.steps = append(p.steps, evalStep{width: p.steps[i].width, null: p.steps[i].null})
	p.work = append(p.work, p.copy(to, i))
	if p.steps[i].null {
		p.work = append(p.work, func(b *evalBlock) bool {
			copy(bitsAt(b.valid[to], b.n), bitsAt(b.valid[i], b.n))
			return true
		})
	}
	return p.result(s, to, i)
}

// copy copies the values of a step to those of another.
func (p *evalPlan) copy(to, from int) evalLoop {
	p.copied(from)
	width := p.steps[to].width
	return func(b *evalBlock) bool {
		if width == 0 {
			copy(bitsAt(b.values[to], b.n), bitsAt(b.values[from], b.n))
		} else {
			copy(lanesAt[byte](b.values[to], b.n*width), lanesAt[byte](b.values[from], b.n*width))
		}
		return true
	}
}
