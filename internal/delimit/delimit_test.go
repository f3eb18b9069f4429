package delimit

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/volley-go/volley/internal/guard"
)

// some are n bytes of an alphabet in which quotes and ends are frequent.
func some(r *rand.Rand, n int) []byte {
	const alphabet = "\"\"\",,\n\r\nabc\xc3\xa4!#+"
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[r.IntN(len(alphabet))]
	}
	return text
}

// fenced is a copy of a text that unmapped memory follows, or is in front of.
func fenced(t *testing.T, a *guard.Allocator, text []byte, use func(text []byte)) {
	t.Helper()
	block, err := a.Allocate(int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Free(block)
	use(append(block.Bytes[:0:len(text)], text...))
}

// TestMarks: every tier marks what the loop in Go does, which marks what each byte is, and reads
// nothing beyond the text.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, mode := range []guard.Mode{guard.Tail, guard.Head} {
		a := guard.New(mode)
		for n := range 9 {
			for high := range 2 {
				text := some(r, 64*n)
				for i := range text {
					if high == 0 {
						text[i] &= 0x7f
					} else if r.IntN(3) == 0 {
						text[i] = byte(r.UintN(256))
					}
				}
				want, above := make([]mark, n), false
				for i, c := range text {
					for k, is := range []bool{c == '"', c == ';' || c == '\n', c == '\n', c == '\r'} {
						if is {
							want[i/64][k] |= 1 << (i % 64)
						}
					}
					above = above || c >= 0x80
				}
				for _, l := range Tiers() {
					fenced(t, a, text, func(text []byte) {
						got := make([]mark, n)
						if h := l.marks(got, text, ';') != 0; h != above || !slices.Equal(got, want) {
							t.Errorf("%s: %q: %x, %v; want %x, %v", l.Name, text, got, h, want, above)
						}
					})
				}
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// slowly finds out the same of a text, by looking at a byte after the other.
func slowly(text []byte, delim byte) (ends []uint32, t Text) {
	t.Regular, t.ASCII = true, true
	begin, closed := 0, -1 // where the field began, and its closing quote is, if it has one
	for i, c := range text {
		t.ASCII = t.ASCII && c < 0x80
		stop := c == delim || c == '\n'
		switch {
		case t.Open && c == '"':
			t.Open, closed = false, i
		case t.Open:
		case c == '"' && i == begin:
			t.Open = true
		case c == '"' && closed == i-1 && closed > begin:
			t.Open, t.Doubled = true, true
		case c == '"':
			t.Open, t.Regular = true, false
		case closed > begin && !stop && (c != '\r' || closed != i-1 || i+1 < len(text) && text[i+1] != '\n'):
			t.Regular = false
		case stop:
			if ends = append(ends, uint32(i)); c == '\n' {
				t.Lines, t.End = t.Lines+1, i+1
			}
			begin, closed = i+1, -1
		}
	}
	return ends, t
}

// TestFields: what ends a field, and whether quotes are regular, is what looking at byte after
// byte finds; where they are not, nothing else is promised.
func TestFields(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	regular := 0
	for n := range 4000 {
		size := n % 300
		if n%500 == 0 {
			size = 64*step + r.IntN(200)
		}
		text := some(r, size)
		if n%2 == 0 { // mostly regular, across the ends of words and of steps
			text = text[:0]
			for len(text) < size {
				text = append(text, []string{"a,", "\"b\",", "\"\"\n", "\"c\"\"d,\n\"\r\n", "ef\r\n", "\"\"\"\",", ",", "\"g\n"}[r.IntN(7+n%3/2)]...)
			}
			text = text[:size]
		}
		want, about := slowly(text, ',')
		for _, l := range Tiers() {
			ends, got := l.Fields([]uint32{7}, text, ',')
			if got.Regular != about.Regular {
				t.Fatalf("%s: %q: regular is %v", l.Name, text, got.Regular)
			}
			if look := l.Look(text, ','); look != got {
				t.Fatalf("%s: %q: %+v at a look, %+v", l.Name, text, look, got)
			}
			if got.Regular && (got != about || ends[0] != 7 || !slices.Equal(ends[1:], want)) {
				t.Fatalf("%s: %q: ends %v, %+v; want %v, %+v", l.Name, text, ends[1:], got, want, about)
			}
		}
		if about.Regular && bytes.Contains(text, []byte{'"'}) {
			regular++
		}
	}
	if regular < 500 {
		t.Errorf("only %d texts with quotes were regular", regular)
	}
}
