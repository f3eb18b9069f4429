package delimit

import (
	"encoding/binary"

	"github.com/volley-go/volley/internal/tier"
)

// mark has words with a bit for each of 64 bytes.
type mark = [4]uint64

// The words of a mark: where there are quotes, delimiters and ends of lines, ends of lines,
// carriage returns.
const (
	quotes = iota
	stops
	lines
	returns
)

// Loops are those of a tier.
type Loops struct {
	Name  string
	marks func(to []mark, text []byte, delim byte) (high uint64)
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

// everyByte times a byte is a word of it.
const everyByte = 0x0101010101010101

// marks looks for them, 64 bytes for each of to; high is not 0 where a byte is above ASCII.
func marks(to []mark, text []byte, delim byte) (high uint64) {
	for i := range to {
		var m mark
		for k := range 8 {
			w := binary.LittleEndian.Uint64(text[64*i+8*k:])
			line := equalBytes(w, '\n')
			m[quotes] |= equalBytes(w, '"') << (8 * k)
			m[stops] |= (equalBytes(w, delim) | line) << (8 * k)
			m[lines] |= line << (8 * k)
			m[returns] |= equalBytes(w, '\r') << (8 * k)
			high |= w & (everyByte << 7)
		}
		to[i] = m
	}
	return high
}

// equalBytes has bit i where byte i of w is b.
func equalBytes(w uint64, b byte) uint64 {
	const low = everyByte * 0x7f
	w ^= uint64(b) * everyByte
	zero := ^((w&low + low) | w | low) // the highest bit of each byte that is 0
	return zero >> 7 * 0x0102040810204080 >> 56
}
