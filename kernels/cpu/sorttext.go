package cpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// piece is how many bytes of a string go into a word. The word's last byte is
// 1 + the bytes left, 9 for more than fit, so that words order as the strings
// do and only strings of which there is more can still differ where they are
// equal.
const piece = 7

// rest is the last byte of the word of a string that goes on after its piece.
const rest = piece + 2

// text is a key of strings.
type text struct {
	column     *memory.Column
	narrow     []int32 // offsets, of the plain types
	wide       []int64 // or of the large ones
	data       []byte
	nulls      bool
	nullsFirst bool
	flip       uint64 // all ones if descending
}

func newText(k kernels.SortKey) *text {
	c := k.Values
	t := &text{column: c, nulls: hasNulls(c), nullsFirst: k.NullsFirst}
	if k.Descending {
		t.flip = math.MaxUint64
	}
	switch c.Type().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		t.wide = memory.Offsets[int64](c)
	default:
		t.narrow = memory.Offsets[int32](c)
	}
	if b := c.Buffer(2); b != nil {
		t.data = b.Bytes()
	}
	return t
}

// at is the string of a row that is not null.
func (t *text) at(i int64) []byte {
	if t.narrow != nil {
		return t.data[t.narrow[i]:t.narrow[i+1]]
	}
	return t.data[t.wide[i]:t.wide[i+1]]
}

// word is the piece of a row's string after depth bytes.
func (t *text) word(i int64, depth int) uint64 {
	if t.nulls && t.column.IsNull(i) {
		if t.nullsFirst {
			return 0
		}
		return math.MaxUint64
	}
	b := t.at(i)[depth:]
	if len(b) > piece {
		return (binary.BigEndian.Uint64(b)&^0xff | rest) ^ t.flip
	}
	w := uint64(len(b) + 1)
	for k, c := range b {
		w |= uint64(c) << (56 - 8*uint(k))
	}
	return w ^ t.flip
}

// more reports whether strings with this word may still differ.
func (t *text) more(w uint64) bool {
	return !(t.nulls && (w == 0 || w == math.MaxUint64)) && byte(w^t.flip) == rest
}

func fillText[R row](t *text, dst []uint64, rows []R, from int64, depth int) {
	if rows == nil {
		for i := range dst {
			dst[i] = t.word(from+int64(i), depth)
		}
		return
	}
	for i, r := range rows {
		dst[i] = t.word(int64(r), depth)
	}
}

// compare orders two rows whose strings agree in their first depth bytes.
func (t *text) compare(a, b int64, depth int) int {
	if t.nulls {
		x, y := t.column.IsNull(a), t.column.IsNull(b)
		switch {
		case x && y:
			return 0
		case x != y:
			if x == t.nullsFirst {
				return -1
			}
			return 1
		}
	}
	c := bytes.Compare(t.at(a)[depth:], t.at(b)[depth:])
	if t.flip != 0 {
		return -c
	}
	return c
}

// shared is how many bytes the strings of rows, none of them null, have in
// common, given that it is at least depth.
func shared[R row](t *text, rows []R, depth int) int {
	first := t.at(int64(rows[0]))
	for _, r := range rows[1:] {
		if first = common(first, t.at(int64(r)), depth); len(first) == depth {
			break
		}
	}
	return len(first)
}

// sharedBy is shared on all workers.
func sharedBy[R row](ctx context.Context, t *text, rows []R, depth int) (int, error) {
	first := t.at(int64(rows[0]))
	least := len(first)
	var mu sync.Mutex
	err := parallel(ctx, int64(len(rows)), func(_ int, s span) error {
		part := rows[s.from:s.to]
		k := min(shared(t, part, depth), len(common(first, t.at(int64(part[0])), depth)))
		mu.Lock()
		defer mu.Unlock()
		least = min(least, k)
		return nil
	})
	return least, err
}

// common is the part of a that b begins with, given that they agree in the
// first depth bytes.
func common(a, b []byte, depth int) []byte {
	a = a[:min(len(a), len(b))]
	i := depth
	for i+8 <= len(a) && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return a[:i]
}
