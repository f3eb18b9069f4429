package cpu

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// alikeTexts are n texts one after another, with some bytes before them: empty ones, such
// as begin with the same bytes, zeros and bytes above 0x7f among them, and long ones.
func alikeTexts[T int32 | int64](r *rand.Rand, n int) texts[T] {
	const common = "\x00\x80ab\xff\x00c\x7f-the-rest\x00\x00of it"
	t := texts[T]{offsets: make([]T, n+1), data: randomBytes(r, r.IntN(5))}
	t.offsets[0] = T(len(t.data))
	few := r.IntN(2) == 0
	for j := range n {
		if r.IntN(6) > 0 {
			t.data = append(t.data, common[:r.IntN(len(common)+1)]...)
		}
		tail := randomBytes(r, r.IntN(12))
		if few {
			tail = []byte(strings.Repeat("\x00", r.IntN(4)))
		}
		t.data = append(t.data, tail...)
		t.offsets[j+1] = T(len(t.data))
	}
	return t
}

// within is a guarded copy of texts.
func (t texts[T]) within(mem *guarded) texts[T] {
	return texts[T]{like(mem, t.offsets), like(mem, t.data)}
}

// headWord is a text's first eight bytes, and zeros, as a word that orders as it does.
func headWord(p []byte) (w uint64) {
	for i := range 8 {
		w <<= 8
		if i < len(p) {
			w |= uint64(p[i])
		}
	}
	return w
}

// skipped is a text without its first bytes, and its length less them, which may be
// below 0.
func skipped(p []byte, skip int) ([]byte, int) { return p[min(skip, len(p)):], len(p) - skip }

func testHeads[T int32 | int64](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			for n := range maxLoop + 1 {
				mem.again()
				plain, other := alikeTexts[T](r, n), alikeTexts[T](r, n)
				h := &headsTest[T]{T: t, r: r, mem: mem, n: n, goes: headsOf[T](goes), tier: headsOf[T](tier), plain: plain, text: plain.within(mem)}
				for i := range h.dst {
					h.dst[i], h.want[i] = room[byte](mem, (n+7)/8), make([]byte, (n+7)/8)
				}
				h.match()
				h.order()
				h.pairs(other, other.within(mem))
				mem.intact("bits of texts", (n+7)/8, 2, 3, 4)
			}
		})
	})
}

// headsTest is one number of texts and one tier; plain and text are the same texts, and
// want what is expected, bit by bit.
type headsTest[T int32 | int64] struct {
	*testing.T
	r           *rand.Rand
	mem         *guarded
	n           int
	goes, tier  *headLoops[T]
	plain, text texts[T]
	dst, want   [3][]byte
}

// expect makes the i-th of want.
func (h *headsTest[T]) expect(i int, holds func(row int) bool) {
	clear(h.want[i])
	for row := range h.n {
		h.want[i][row/8] |= bit(holds(row)) << (row % 8)
	}
}

// check holds what call gives on the tier and in Go against want.
func (h *headsTest[T]) check(what string, results int, call func(l *headLoops[T])) {
	h.Helper()
	for _, l := range []*headLoops[T]{h.tier, h.goes} {
		for i := range results {
			for j := range h.dst[i] {
				h.dst[i][j] = 0xa5
			}
		}
		call(l)
		for i := range results {
			same(h.T, fmt.Sprintf("%s, result %d, in Go: %t,", what, i, l == h.goes), h.n, h.dst[i], h.want[i])
		}
	}
}

func (h *headsTest[T]) match() {
	var pattern []byte
	if h.n > 0 {
		pattern = h.plain.at(int64(h.r.IntN(h.n)))
	}
	most := int64(math.MaxInt64)
	k := min(len(pattern), h.r.IntN(9))
	p := textPiece{least: int64(k), most: most, mask: ^uint64(0) >> (64 - 8*uint(k))}
	if h.r.IntN(2) == 0 {
		p.most = p.least
	}
	for _, last := range []bool{false, true} {
		p.last, p.place = last, 0
		p.want = wordAt(pattern[:k], 0)
		if last {
			p.place, p.want = int64(-k), wordAt(pattern[len(pattern)-k:], 0)
		}
		h.expect(0, func(row int) bool {
			x := h.plain.at(int64(row))
			if int64(len(x)) > p.most {
				return false
			}
			if last {
				return bytes.HasSuffix(x, pattern[len(pattern)-k:])
			}
			return bytes.HasPrefix(x, pattern[:k])
		})
		h.check(fmt.Sprintf("%+v", p), 1, func(l *headLoops[T]) { l.match(h.dst[0], h.text.offsets, h.text.data, &p) })
	}
}

func (h *headsTest[T]) order() {
	skip, size, want := h.r.IntN(12), int64(h.r.IntN(10)), h.r.Uint64()
	if h.n > 0 && h.r.IntN(4) > 0 {
		p, _ := skipped(h.plain.at(int64(h.r.IntN(h.n))), skip)
		want = headWord(p)
	}
	compare := func(row int) int {
		p, k := skipped(h.plain.at(int64(row)), skip)
		return cmp.Or(cmp.Compare(headWord(p), want), min(1, max(0, k-int(size)+1))-1)
	}
	h.expect(0, func(row int) bool { return compare(row) < 0 })
	h.expect(1, func(row int) bool { return compare(row) == 0 })
	h.check(fmt.Sprintf("order after %d of %x and %d", skip, want, size), 2, func(l *headLoops[T]) {
		l.order(h.dst[0], h.dst[1], h.text.offsets, h.text.data, skip, want, size)
	})
}

func (h *headsTest[T]) pairs(plain, text texts[T]) {
	skip := h.r.IntN(12)
	both := func(row int) (head, size, least int) {
		p, k := skipped(h.plain.at(int64(row)), skip)
		q, m := skipped(plain.at(int64(row)), skip)
		return cmp.Compare(headWord(p), headWord(q)), cmp.Compare(k, m), min(k, m)
	}
	h.expect(0, func(row int) bool { head, size, _ := both(row); return cmp.Or(head, size) < 0 })
	h.expect(1, func(row int) bool { head, size, _ := both(row); return head == 0 && size == 0 })
	h.expect(2, func(row int) bool { head, _, least := both(row); return head == 0 && least > 8 })
	h.check(fmt.Sprintf("pairs after %d", skip), 3, func(l *headLoops[T]) {
		l.pairs(h.dst[0], h.dst[1], h.dst[2], h.text, text, skip)
	})
}

func TestHeadLoops(t *testing.T) {
	testHeads[int32](t, "int32")
	testHeads[int64](t, "int64")
}

func BenchmarkHeads(b *testing.B) {
	const n = 1 << 12
	r := rand.New(rand.NewPCG(1, 2))
	offsets, data := make([]int32, n+1), make([]byte, 0, 17*n)
	for i := range n {
		data = append(data, randomBytes(r, 4+r.IntN(13))...)
		offsets[i+1] = int32(len(data))
	}
	one, two, three := make([]byte, n/8), make([]byte, n/8), make([]byte, n/8)
	x := texts[int32]{offsets, data}
	p := &textPiece{least: 2, most: math.MaxInt64, want: 'q' | 'u'<<8, mask: 0xffff}
	run := func(what string, f func(l *headLoops[int32])) {
		b.Run("op="+what, func(b *testing.B) {
			benchmarkTiers(b, n, func(l *loops) { f(&l.heads32) })
		})
	}
	run("match", func(l *headLoops[int32]) { l.match(one, offsets, data, p) })
	run("order", func(l *headLoops[int32]) { l.order(one, two, offsets, data, 0, 1<<63, 3) })
	run("pairs", func(l *headLoops[int32]) { l.pairs(one, two, three, x, x, 0) })
}
