package cpu

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// compute adds the loops of step i: those of its validity, then of its values.
func (p *evalPlan) compute(i int) {
	st := p.program.Steps[i]
	switch st.Kind {
	case kernels.StepLogic:
		p.add(p.logic(i))
		return
	case kernels.StepIsNull:
		p.add(p.isNull(i))
		return
	case kernels.StepFillNull:
		p.add(p.fillNull(i))
		return
	case kernels.StepIfElse:
		p.add(p.ifElse(i))
		return
	}
	p.combine(i)
	of := st.Type // what is computed with
	if st.Kind == kernels.StepCompare || st.Kind == kernels.StepUnary {
		of = p.program.Steps[st.Args[0]].Type
	}
	t := evalTypes[laneID(of)]
	switch {
	case st.Kind == kernels.StepArithmetic && st.Type.ID() == arrow.DECIMAL128:
		p.add(p.decimalArithmetic(i))
	case st.Kind == kernels.StepNot:
		p.add(p.not(i))
	case st.Kind == kernels.StepApply:
		p.add(p.apply(i))
	case st.Kind == kernels.StepArithmetic:
		p.add(t.arithmetic(p, i))
	case st.Kind == kernels.StepUnary:
		p.add(t.unary(p, i))
	case st.Kind == kernels.StepCast:
		p.add(p.cast(i))
	case t == nil:
		p.add(p.compareBits(i))
	default:
		p.add(t.compare(p, i))
	}
}

func (p *evalPlan) add(loop evalLoop) { p.work = append(p.work, loop) }

// args are the operands of step i, with copies of those that are scalars.
func (p *evalPlan) args(i int) []int {
	args := p.program.Steps[i].Args
	for _, a := range args {
		p.copied(a)
	}
	return args
}

// combine makes a row of step i null where one of its operands is.
func (p *evalPlan) combine(i int) {
	var from []int
	for _, a := range p.program.Steps[i].Args {
		if p.steps[a].null {
			from = append(from, a)
		}
	}
	switch {
	case len(from) == 0:
	case len(from) == 1 && p.steps[i].valid.here: // the same bitmap
		p.add(func(b *evalBlock) bool {
			b.valid[i] = b.valid[from[0]]
			return true
		})
	default:
		and := p.l.bitmap.and
		p.add(func(b *evalBlock) bool {
			to := bitsAt(b.valid[i], b.n)
			copy(to, bitsAt(b.valid[from[0]], b.n))
			for _, a := range from[1:] {
				and(to, to, bitsAt(b.valid[a], b.n))
			}
			return true
		})
	}
}

// logic is by bytes where no row is null.
func (p *evalPlan) logic(i int) evalLoop {
	args, op := p.args(i), kernels.LogicOp(p.program.Steps[i].Op)
	x, y := args[0], args[1]
	if !p.steps[i].null {
		loop := p.l.bitmap.xor
		switch op {
		case kernels.And:
			loop = p.l.bitmap.and
		case kernels.Or:
			loop = p.l.bitmap.or
		case kernels.AndNot:
			x, y, loop = y, x, p.l.bitmap.andNot
		}
		return func(b *evalBlock) bool {
			loop(b.bitmap(i), b.bitmap(x), b.bitmap(y))
			return true
		}
	}
	return func(b *evalBlock) bool {
		values, valid := b.bitmap(i), bitsAt(b.valid[i], b.n)
		for from := int64(0); from < b.n; from += 64 {
			ay, an := b.truths(x, from)
			by, bn := b.truths(y, from)
			yes, no := kleeneWords(op, ay, an, by, bn)
			storeWord(values, from, min(64, b.n-from), yes)
			storeWord(valid, from, min(64, b.n-from), yes|no)
		}
		return true
	}
}

func (p *evalPlan) not(i int) evalLoop {
	x := p.args(i)[0]
	return func(b *evalBlock) bool {
		from, to := b.bitmap(x), b.bitmap(i)
		for k := range to {
			to[k] = ^from[k]
		}
		return true
	}
}

func (p *evalPlan) isNull(i int) evalLoop {
	st := p.program.Steps[i]
	x := p.args(i)[0]
	same := byte(0) // of a row that is not null
	if t, ok := evalTypes[storageID(p.program.Steps[x].Type)]; ok && kernels.NullTest(st.Op) == kernels.IsNaNTest {
		different := t.differs(p, i, x)
		return func(b *evalBlock) bool {
			to := b.bitmap(i)
			different(b)
			if b.valid[x] != nil {
				p.l.bitmap.and(to, to, bitsAt(b.valid[x], b.n))
			}
			return true
		}
	}
	if kernels.NullTest(st.Op) == kernels.IsValidTest {
		same = 0xff
	}
	onlyNaN := kernels.NullTest(st.Op) == kernels.IsNaNTest
	return func(b *evalBlock) bool {
		to := b.bitmap(i)
		for k := range to {
			to[k] = same
		}
		if v := b.valid[x]; v != nil && !onlyNaN {
			for k, w := range bitsAt(v, b.n) {
				to[k] = ^(w ^ same)
			}
		}
		return true
	}
}

// fillNull takes the second operand where the first is null.
func (p *evalPlan) fillNull(i int) evalLoop {
	args := p.args(i)
	x, y := args[0], args[1]
	if !p.steps[x].null {
		copied := p.copy(i, x)
		return func(b *evalBlock) bool {
			b.longest[i] = b.longest[x]
			return copied(b)
		}
	}
	values := p.choose(i, x, y)
	return func(b *evalBlock) bool {
		b.longest[i] = max(b.longest[x], b.longest[y])
		mask := bitsAt(b.valid[x], b.n)
		values(b, mask)
		if b.valid[i] != nil { // then that of y is there
			p.l.bitmap.or(bitsAt(b.valid[i], b.n), mask, bitsAt(b.valid[y], b.n))
		}
		return true
	}
}

func (p *evalPlan) ifElse(i int) evalLoop {
	args := p.args(i)
	c, x, y := args[0], args[1], args[2]
	values := p.choose(i, x, y)
	return func(b *evalBlock) bool {
		b.longest[i] = max(b.longest[x], b.longest[y])
		values(b, b.bitmap(c))
		if b.valid[i] == nil {
			return true
		}
		valid := bitsAt(b.valid[i], b.n)
		for from := int64(0); from < b.n; from += 64 {
			n := min(64, b.n-from)
			yes, no := b.truths(c, from)
			storeWord(valid, from, n, yes&b.validWord(x, from, n)|no&b.validWord(y, from, n))
		}
		return true
	}
}

// validWord is the validity of n rows of a step from a row on.
func (b *evalBlock) validWord(i int, from, n int64) uint64 {
	if b.valid[i] == nil {
		return lowBits(n)
	}
	return memory.Bitmap(bitsAt(b.valid[i], b.n)).Word(from, n)
}

// choose takes the values of x where mask has a bit and of y where not.
func (p *evalPlan) choose(i, x, y int) func(b *evalBlock, mask []byte) {
	switch p.steps[i].width {
	case 0:
		return func(b *evalBlock, mask []byte) {
			to, yes, no := b.bitmap(i), b.bitmap(x), b.bitmap(y)
			for k := range to {
				to[k] = no[k] ^ (yes[k]^no[k])&mask[k]
			}
		}
	case 1:
		return chooseLanes(p.l.choose.u8, i, x, y)
	case 2:
		return chooseLanes(p.l.choose.u16, i, x, y)
	case 4:
		return chooseLanes(p.l.choose.u32, i, x, y)
	default:
		return chooseLanes(p.l.choose.u64, i, x, y)
	}
}

func chooseLanes[T unsigned](loop func(dst, p, q []T, mask []byte), i, x, y int) func(b *evalBlock, mask []byte) {
	return func(b *evalBlock, mask []byte) {
		loop(stepValues[T](b, i), stepValues[T](b, x), stepValues[T](b, y), mask)
	}
}

// compareBits compares bools.
func (p *evalPlan) compareBits(i int) evalLoop {
	args, op := p.args(i), kernels.CompareOp(p.program.Steps[i].Op)
	x, y := args[0], args[1]
	return func(b *evalBlock) bool {
		to, l, r := b.bitmap(i), b.bitmap(x), b.bitmap(y)
		for k := range to {
			to[k] = byte(compareWords(op, uint64(l[k]), uint64(r[k])))
		}
		return true
	}
}

// cast has the loop of two types of numbers.
func (p *evalPlan) cast(i int) evalLoop {
	st := p.program.Steps[i]
	x := p.args(i)[0]
	from := p.program.Steps[x].Type
	if from.ID() == arrow.DECIMAL128 || st.Type.ID() == arrow.DECIMAL128 {
		return p.decimalCast(i, x)
	}
	if storageID(from) == storageID(st.Type) {
		return p.copy(i, x)
	}
	loop := p.l.castLanes(storageID(from), storageID(st.Type))
	return func(b *evalBlock) bool {
		if !loop(b.values[i], b.values[x], b.n) || st.Wrap {
			return true
		}
		for k := range b.n {
			to, at := unsafe.Add(b.values[i], k*p.steps[i].width), unsafe.Add(b.values[x], k*p.steps[x].width)
			if !b.isNull(i, k) && loop(to, at, 1) {
				return false
			}
		}
		return true
	}
}

// apply calls the user's function.
func (p *evalPlan) apply(i int) evalLoop {
	f, args := p.program.Steps[i].Function, p.args(i)
	bytes := func(b *evalBlock, i int) []byte { return lanesAt[byte](b.values[i], b.n*p.steps[i].width) }
	return func(b *evalBlock) bool {
		values := make([][]byte, len(args))
		for k, a := range args {
			values[k] = bytes(b, a)
		}
		return f.RunIn(b.ctx, b.n, bytes(b, i), values) == nil // what was cancelled is found out by the kernels
	}
}
