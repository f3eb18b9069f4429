package delimit

import (
	"math"
	"math/bits"
	"slices"
)

// Text is what was found out about a text.
type Text struct {
	Regular bool // fields have quotes only round them, and twice each within those
	Open    bool // the text ends in quotes
	Doubled bool // there are quotes that stand twice
	ASCII   bool
	Lines   int // ends of lines outside of quotes
	End     int // behind the last of them
}

// step is how many times 64 bytes are marked at a time.
const step = 64

// walk goes over the text and hands the bits of what ends a field to use, up to step words at a
// time, the first for the bytes from at on.
func (l *Loops) walk(text []byte, delim byte, use func(at int, stops []uint64)) (t Text) {
	var words [step]mark
	var all [step]uint64
	var last [64]byte
	var high, fault, doubled, inside uint64
	// What is before the next byte, as its lowest bit: an end of a field, a closing quote, a
	// carriage return after one.
	stop, closed, returned := uint64(1), uint64(0), uint64(0)
	for at := 0; at < len(text); at += 64 * step {
		n := min(step, (len(text)-at)/64)
		high |= l.marks(words[:n], text[at:at+64*n], delim)
		if rest := text[at+64*n:]; n < step && len(rest) > 0 {
			last = [64]byte{}
			copy(last[:], rest)
			high |= l.marks(words[n:n+1], last[:], delim)
			n++
		}
		for i := range words[:n] {
			w := &words[i]
			in := parity(w[quotes]) ^ inside // from an opening quote up to what closes it
			inside = uint64(int64(in) >> 63)
			opens, closes, ends, breaks := w[quotes]&in, w[quotes]&^in, w[stops]&^in, w[lines]&^in
			afterStop, afterClose := ends<<1|stop, closes<<1|closed
			back := afterClose & w[returns]
			afterReturn := back<<1 | returned
			stop, closed, returned = ends>>63, closes>>63, back>>63
			wrong := opens&^(afterStop|afterClose) | afterClose&^(ends|opens|back) | afterReturn&^breaks
			if left := len(text) - at - 64*i; left < 64 {
				wrong &= 1<<uint(left) - 1 // the text's end may stand there too
			}
			fault |= wrong
			doubled |= opens & afterClose
			all[i] = ends
			if breaks != 0 {
				t.Lines += bits.OnesCount64(breaks)
				t.End = at + 64*i + 64 - bits.LeadingZeros64(breaks)
			}
		}
		use(at, all[:n])
	}
	t.Regular, t.Open, t.Doubled, t.ASCII = fault == 0, inside != 0, doubled != 0, high == 0
	return t
}

// parity has, of each bit, whether an odd number of w's bits are set up to it.
func parity(w uint64) uint64 {
	w ^= w << 1
	w ^= w << 2
	w ^= w << 4
	w ^= w << 8
	w ^= w << 16
	return w ^ w<<32
}

// Look finds out about a text.
func (l *Loops) Look(text []byte, delim byte) Text {
	return l.walk(text, delim, func(int, []uint64) {})
}

// Fields appends to ends where the fields of a text end, at their delimiters and ends of
// lines outside of quotes. A text is shorter than 4 GiB. What follows the last of them is not a field.
func (l *Loops) Fields(ends []uint32, text []byte, delim byte) ([]uint32, Text) {
	if uint64(len(text)) >= math.MaxUint32 {
		return ends, Text{}
	}
	t := l.walk(text, delim, func(at int, stops []uint64) {
		had := len(ends)
		ends = slices.Grow(ends, 64*len(stops)+8)
		ends = ends[:had+places(ends[had:cap(ends)], uint32(at), stops)]
	})
	return ends, t
}

// places stores where bits are set, counted from at on, and how many there are. It may write
// eight elements more than that.
func places(to []uint32, at uint32, words []uint64) (n int) {
	for _, w := range words {
		count := bits.OnesCount64(w)
		four := (*[4]uint32)(to[n:])
		for k := range four {
			four[k] = at + uint32(bits.TrailingZeros64(w))
			w &= w - 1
		}
		if count > 4 {
			for k := n + 4; w != 0; k++ {
				to[k] = at + uint32(bits.TrailingZeros64(w))
				w &= w - 1
			}
		}
		n += count
		at += 64
	}
	return n
}
