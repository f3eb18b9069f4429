package bitpack

import (
	"encoding/binary"

	"github.com/volley-go/volley/internal/tier"
)

// Slack is how many bytes must be readable from the first byte of any number on:
// loops load whole registers.
const Slack = 64

// Widest is how many bits a number of [Loops.LookUp] has at most.
const Widest = 24

// Loops are those of a tier.
type Loops struct {
	Name string
	// The loops in assembly, of whole steps; nil where there are none.
	lookUp func(to, table []uint32, b []byte, s *[shapeBytes]byte) uint32 // of eight
	unpack func(to []uint32, b []byte, s *[shapeBytes]byte) uint32
	rows   func(to []uint32, stride int, from []uint32, line, columns, n int)
	placed func(to []uint32, stride int, places, from []uint32, line, columns, n int)
	spread func(to []uint32, stride int, places []uint32, from []*uint32, mask []uint16, columns, steps int)
	pick   func(to, from []uint32, mask []byte) (rows, kept int)
	step   int  // numbers of a step of the others
	partly bool // rows and placed take fewer columns than step too
}

var best = loopsOf(tier.Chosen())

// Best are the loops of the tier that [tier.Chosen] is.
func Best() *Loops { return best }

// Tiers are the loops of every tier that the processor runs, those in Go first.
func Tiers() (all []*Loops) {
	for _, name := range tier.Here() {
		all = append(all, loopsOf(name))
	}
	return all
}

// Unpack stores numbers of so many bits, 0 to 32, from bit `bit` of b on, a multiple of
// the width, and gives the largest. b has Slack bytes of capacity from the first byte of the last number on.
func (l *Loops) Unpack(to []uint32, b []byte, bit int64, width uint) (largest uint32) {
	if l.unpack != nil && width > 0 && width <= Widest {
		n := min(toByte(bit, width), len(to))
		largest = unpack(to[:n], b, bit, width)
		to, bit = to[n:], bit+int64(n)*int64(width)
		if n = len(to) / l.step * l.step; n > 0 {
			largest = max(largest, l.unpack(to[:n], from(b, bit, n, width), shapeOf(width)))
			to, bit = to[n:], bit+int64(n)*int64(width)
		}
	}
	return max(largest, unpack(to, b, bit, width))
}

// LookUp stores what a table has at numbers of so many bits, 1 to Widest, from bit
// `bit` of b on, a multiple of the width, and gives the largest number. The table has as many elements as numbers of
// that width tell apart; b is as for Unpack.
func (l *Loops) LookUp(to, table []uint32, b []byte, bit int64, width uint) (largest uint32) {
	table = table[:1<<width]
	if l.lookUp != nil {
		n := 0
		if bit&7 != 0 {
			n = min(toByte(bit, width), len(to))
			largest = lookUp(to[:n], table, b, bit, width)
			to, bit = to[n:], bit+int64(n)*int64(width)
		}
		if n = len(to) / 8 * 8; n > 0 {
			largest = max(largest, l.lookUp(to[:n], table, from(b, bit, n, width), shapeOf(width)))
			if n == len(to) {
				return largest
			}
			to, bit = to[n:], bit+int64(n)*int64(width)
		}
	}
	return max(largest, lookUp(to, table, b, bit, width))
}

// Rows lays columns by rows: element i of column c, from[c*line+i], goes to
// to[i*stride+c], for n rows. A stride is no less than there are columns, of which
// there is one.
func (l *Loops) Rows(to []uint32, stride int, from []uint32, line, columns, n int) {
	whole := 0
	if l.rows != nil {
		if whole = n / l.step * l.step; whole > 0 {
			_, _ = to[(whole-1)*stride+columns-1], from[(columns-1)*line+whole-1]
			c := 0
			for ; columns-c >= l.step || l.partly && c < columns; c += l.step {
				l.rows(to[c:], stride, from[c*line:], line, min(columns-c, l.step), whole)
			}
			if c < columns {
				rows(to[c:], stride, from[c*line:], line, columns-c, whole)
			}
		}
	}
	if whole < n {
		rows(to[whole*stride:], stride, from[whole:], line, columns, n-whole)
	}
}

// toByte is how many numbers there are until one begins with a byte, as each eighth
// does.
func toByte(bit int64, width uint) (n int) {
	for ; bit&7 != 0; n++ {
		bit += int64(width)
	}
	return n
}

// from are the bytes of n numbers from a bit on, and what is loaded with the last.
func from(b []byte, bit int64, n int, width uint) []byte {
	last := bit + int64(n-1)*int64(width)
	return b[bit>>3 : last>>3+Slack]
}

// four is the width of numbers of which a word has four, behind the seven bits that
// may stand before them.
const four = 14

// unpack is Unpack in Go: it loads a word for each number, seven bits before it and
// the 32 of the widest fit, or for four narrow ones.
func unpack(to []uint32, b []byte, bit int64, width uint) (largest uint32) {
	b = b[:cap(b)]
	mask := uint64(1)<<width - 1
	if width <= four {
		var l0, l1, l2, l3 uint32
		for len(to) >= 4 {
			word := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			v0, v1, v2, v3 := uint32(word&mask), uint32(word>>(width&63)&mask), uint32(word>>(2*width&63)&mask), uint32(word>>(3*width&63)&mask)
			l0, l1, l2, l3 = max(l0, v0), max(l1, v1), max(l2, v2), max(l3, v3)
			to[0], to[1], to[2], to[3] = v0, v1, v2, v3
			to, bit = to[4:], bit+4*int64(width)
		}
		largest = max(l0, l1, l2, l3)
	}
	for i := range to {
		v := uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		to[i] = v
		largest = max(largest, v)
		bit += int64(width)
	}
	return largest
}

// lookUp is LookUp in Go, as unpack is Unpack.
func lookUp(to, table []uint32, b []byte, bit int64, width uint) (largest uint32) {
	b = b[:cap(b)]
	mask := uint64(1)<<width - 1
	table = table[:mask+1]
	if width <= four {
		var l0, l1, l2, l3 uint64
		for len(to) >= 4 {
			word := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			v0, v1, v2, v3 := word&mask, word>>(width&63)&mask, word>>(2*width&63)&mask, word>>(3*width&63)&mask
			l0, l1, l2, l3 = max(l0, v0), max(l1, v1), max(l2, v2), max(l3, v3)
			to[0], to[1], to[2], to[3] = table[v0], table[v1], table[v2], table[v3]
			to, bit = to[4:], bit+4*int64(width)
		}
		largest = uint32(max(l0, l1, l2, l3))
	}
	for i := range to {
		x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
		to[i] = table[x]
		largest = max(largest, uint32(x))
		bit += int64(width)
	}
	return largest
}

// rows is Rows in Go.
func rows(to []uint32, stride int, from []uint32, line, columns, n int) {
	c := 0
	for ; columns-c >= 8; c += 8 {
		eightRows(to[c:], stride, from[c*line:], line, n)
	}
	for ; c < columns; c++ {
		for i, x := range from[c*line:][:n] {
			to[i*stride+c] = x
		}
	}
}

// eightRows is rows of eight columns, whose places are kept in registers.
func eightRows(to []uint32, stride int, from []uint32, line, n int) {
	c0, c1, c2, c3 := from[:n], from[line:][:n], from[2*line:][:n], from[3*line:][:n]
	c4, c5, c6, c7 := from[4*line:][:n], from[5*line:][:n], from[6*line:][:n], from[7*line:][:n]
	for i, x := range c0 {
		t := (*[8]uint32)(to[i*stride:])
		t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7] = x, c1[i], c2[i], c3[i], c4[i], c5[i], c6[i], c7[i]
	}
}
