package cpu

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// headsAtOnce is how many rows of texts are compared by one call of a loop.
const headsAtOnce = 1 << 12

// fewRows is how many rows of 64 that eight bytes leave undecided are compared one by one,
// and not by a loop over eight bytes more of all; then from the first byte on, which
// bytes.Compare takes sixteen of at a time.
const fewRows = 8

// compareTexts orders texts by their bytes. Most differ in the first eight, or in length.
func compareTexts[T int32 | int64](l *loops, op kernels.CompareOp, dst memory.Bitmap, a, b operand) func(int, span) error {
	x, loops := textsOf[T](a.col), headsOf[T](l)
	var compare func(m span)
	switch equality := op == kernels.Equal || op == kernels.NotEqual; {
	case b.col != nil:
		compare = comparePairs(loops, op, dst, x, textsOf[T](b.col))
	case equality:
		v := []byte(b.val.Text())
		p := patternOf(v, int64(len(v)), false)
		compare = func(m span) { matchPattern(loops, x, dst, m, p) }
	default:
		compare = func(m span) { compareText(loops, op, dst, x, []byte(b.val.Text()), m) }
	}
	return func(_ int, m span) error {
		compare(m)
		if op == kernels.NotEqual || b.col == nil && (op == kernels.Greater || op == kernels.GreaterEqual) {
			for i := m.from; i < m.to; i += 64 {
				n := min(64, m.to-i)
				storeWord(dst, i, n, ^dst.Word(i, n)&lowBits(n))
			}
		}
		return nil
	}
}

// compareText tells which texts are below v, or, for LessEqual and Greater, no more than it.
func compareText[T int32 | int64](l *headLoops[T], op kernels.CompareOp, dst memory.Bitmap, t texts[T], v []byte, m span) {
	upTo, want := op == kernels.LessEqual || op == kernels.Greater, wanted(kernels.Less)
	if upTo {
		want = wanted(kernels.LessEqual)
	}
	order := func(below, open []byte, from, n int64, skip int) {
		head, size := bits.ReverseBytes64(wordAt(v, int64(skip))), int64(len(v)-skip)
		if size > 8 {
			size = 9
		} else if upTo { // what is no more than a text is below the next one, which is longer by a zero
			size++
		}
		l.order(below, open, t.offsets[from:from+n+1], t.data, skip, head, size)
	}
	open, room := make([]byte, headsAtOnce/8), make([]byte, 16)
	for i := m.from; i < m.to; i += headsAtOnce {
		rows := min(headsAtOnce, m.to-i)
		order(dst[i>>3:(i+rows+7)>>3], open[:(rows+7)>>3], i, rows, 0)
		for j := int64(0); len(v) > 8 && j < rows; j += 64 {
			n := min(64, rows-j)
			todo := memory.Bitmap(open).Word(j, n)
			if todo == 0 {
				continue
			}
			below := dst.Word(i+j, n)
			for skip := 8; todo != 0; skip += 8 {
				if bits.OnesCount64(todo) < fewRows || skip > l.deep {
					for ; todo != 0; todo &= todo - 1 {
						k := bits.TrailingZeros64(todo)
						c := bytes.Compare(t.at(i+j+int64(k)), v)
						below |= uint64(want>>(c+1)&1) << uint(k)
					}
					break
				}
				order(room[:8], room[8:], i+j, n, skip)
				below |= todo & binary.LittleEndian.Uint64(room)
				if len(v)-skip <= 8 {
					break
				}
				todo &= binary.LittleEndian.Uint64(room[8:])
			}
			storeWord(dst, i+j, n, below)
		}
	}
}

// comparePairs tells which texts are less than those of the other column, the same, or
// one of both; NotEqual is as Equal.
func comparePairs[T int32 | int64](l *headLoops[T], op kernels.CompareOp, dst memory.Bitmap, a, b texts[T]) func(span) {
	if op == kernels.Greater || op == kernels.GreaterEqual {
		a, b, op = b, a, op.Swapped()
	}
	p := &textPairs[T]{loops: l, a: a, b: b}
	if op != kernels.Less {
		p.same = ^uint64(0)
	}
	if op == kernels.Less || op == kernels.LessEqual {
		p.less = ^uint64(0)
	}
	return func(m span) { p.compare(dst, m) }
}

// textPairs are two columns of texts that are compared: less and same are ones where
// what is less, or the same, is looked for.
type textPairs[T int32 | int64] struct {
	loops      *headLoops[T]
	a, b       texts[T]
	less, same uint64
}

func (p *textPairs[T]) compare(dst memory.Bitmap, m span) {
	room := make([]byte, 3*headsAtOnce/8)
	for i := m.from; i < m.to; i += headsAtOnce {
		rows := min(headsAtOnce, m.to-i)
		if p.loops.deep == 0 { // in Go two texts' words take as long as comparing the texts
			for j := i; j < i+rows; j += 64 {
				n := min(64, i+rows-j)
				storeWord(dst, j, n, p.further(j, n, lowBits(n)))
			}
			continue
		}
		below, same, open := p.heads(room, i, rows, 0)
		for j := int64(0); j < rows; j += 64 {
			n := min(64, rows-j)
			w, todo := p.decided(below.Word(j, n), same.Word(j, n), open.Word(j, n))
			if todo != 0 {
				w |= p.further(i+j, n, todo)
			}
			storeWord(dst, i+j, n, w)
		}
	}
}

// heads compares eight bytes of n rows from a row on.
func (p *textPairs[T]) heads(room []byte, from, n int64, skip int) (below, same, open memory.Bitmap) {
	k := len(room) / 3
	a, b := p.a, p.b
	a.offsets, b.offsets = a.offsets[from:from+n+1], b.offsets[from:from+n+1]
	p.loops.pairs(room[:k], room[k:2*k], room[2*k:], a, b, skip)
	return room[:k], room[k : 2*k], room[2*k:]
}

// decided is which of 64 rows hold, and which are still to be compared: where only the
// same is looked for, none whose lengths differ.
func (p *textPairs[T]) decided(below, same, open uint64) (holds, todo uint64) {
	return (below&p.less | same&p.same) &^ open, open & (same | p.less)
}

// further compares those of n <= 64 rows whose first eight bytes may be the same.
func (p *textPairs[T]) further(from, n int64, todo uint64) (holds uint64) {
	var room [24]byte
	want := byte(p.less&0b001 | p.same&0b010) // as wanted has it
	for skip := 8; todo != 0; skip += 8 {
		if bits.OnesCount64(todo) < fewRows || skip > p.loops.deep {
			for ; todo != 0; todo &= todo - 1 {
				k := bits.TrailingZeros64(todo)
				x, y := p.a.at(from+int64(k)), p.b.at(from+int64(k))
				c := 1 // different, and which is less does not matter
				if p.less != 0 {
					c = bytes.Compare(x, y)
				} else if bytes.Equal(x, y) {
					c = 0
				}
				holds |= uint64(want>>(c+1)&1) << uint(k)
			}
			break
		}
		below, same, open := p.heads(room[:], from, n, skip)
		w, more := p.decided(below.Word(0, 64), same.Word(0, 64), open.Word(0, 64))
		holds |= w & todo
		todo &= more
	}
	return holds
}
