package cpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// match tells whether texts contain a pattern, start or end with it, or are like it.
func (l *loops) match(ctx context.Context, s device.Stream, op kernels.MatchOp, c *memory.Column, pattern string) (*memory.Column, error) {
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	var like *likePattern
	var err error
	if op == kernels.Like {
		like, err = likeOf(c.Type(), pattern)
	}
	if err == nil {
		err = o.nullsOf(c)
	}
	if err == nil {
		err = o.bits()
	}
	if err == nil {
		var f func(context.Context, span) error
		narrow := memory.LayoutOf(c.Type()) == memory.LayoutBinary
		switch {
		case like != nil && narrow:
			f = likeMatcher[int32](l, o.bitmap(1), c, like)
		case like != nil:
			f = likeMatcher[int64](l, o.bitmap(1), c, like)
		case narrow:
			f = matcher[int32](l, op, o.bitmap(1), c, []byte(pattern))
		default:
			f = matcher[int64](l, op, o.bitmap(1), c, []byte(pattern))
		}
		err = parallel(ctx, c.Len(), func(_ int, m span) error { return f(ctx, m) })
	}
	return o.column(err)
}

func matcher[T int32 | int64](l *loops, op kernels.MatchOp, dst memory.Bitmap, c *memory.Column, pattern []byte) func(context.Context, span) error {
	t := textsOf[T](c)
	switch {
	case len(pattern) == 0:
		return func(_ context.Context, m span) error {
			dst.Fill(m.from, m.to-m.from, true)
			return nil
		}
	case op != kernels.Contains:
		loops, p := headsOf[T](l), patternOf(pattern, math.MaxInt64, op == kernels.EndsWith)
		return func(_ context.Context, m span) error {
			matchPattern(loops, t, dst, m, p)
			return nil
		}
	default:
		return func(ctx context.Context, m span) error {
			dst.Fill(m.from, m.to-m.from, false)
			return searchTexts(ctx, l, t, dst, m, pattern)
		}
	}
}

// textPattern is what texts are, begin with or end with: up to eight bytes of it, or its
// first eight and its last eight, and those between.
type textPattern struct {
	pattern []byte
	last    bool // it ends them
	pieces  []textPiece
}

// patternOf is a pattern of texts of at most so many bytes.
func patternOf(pattern []byte, most int64, last bool) *textPattern {
	k := int64(len(pattern))
	p := &textPattern{pattern: pattern, last: last}
	head := textPiece{least: k, most: most, last: last, want: wordAt(pattern, 0), mask: ^uint64(0) >> (64 - 8*uint(min(k, 8)))}
	if last {
		head.place = -k
	}
	p.pieces = append(p.pieces, head)
	if k > 8 {
		tail := head
		tail.place += k - 8
		tail.want = binary.LittleEndian.Uint64(pattern[k-8:])
		p.pieces = append(p.pieces, tail)
	}
	return p
}

// matchPattern tells which texts of a morsel have a pattern. Most have not its first eight
// bytes, and are not looked at again.
func matchPattern[T int32 | int64](l *headLoops[T], t texts[T], dst memory.Bitmap, m span, p *textPattern) {
	room := make(memory.Bitmap, 8)
	for i := m.from; i < m.to; i += headsAtOnce {
		rows := min(headsAtOnce, m.to-i)
		l.match(dst[i>>3:(i+rows+7)>>3], t.offsets[i:i+rows+1], t.data, &p.pieces[0])
		if len(p.pieces) == 1 {
			continue
		}
		for j := i; j < i+rows; j += 64 {
			n := min(64, i+rows-j)
			w := dst.Word(j, n)
			if w == 0 {
				continue
			}
			rest := p.pattern[8:]
			if bits.OnesCount64(w) >= fewRows && l.deep > 0 {
				l.match(room, t.offsets[j:j+n+1], t.data, &p.pieces[1])
				w &= binary.LittleEndian.Uint64(room) & lowBits(n)
				rest = rest[:max(len(rest)-8, 0)]
			}
			if len(rest) > 0 {
				w = matchRest(t, j, w, p, rest)
			}
			storeWord(dst, j, n, w)
		}
	}
}

// matchRest keeps those of 64 rows whose texts have the rest of a pattern as well,
// behind its first eight bytes.
func matchRest[T int32 | int64](t texts[T], from int64, w uint64, p *textPattern, rest []byte) uint64 {
	for todo := w; todo != 0; todo &= todo - 1 {
		x := t.at(from + int64(bits.TrailingZeros64(todo)))
		if p.last {
			x = x[len(x)-len(p.pattern):]
		}
		if !bytes.Equal(x[8:8+len(rest)], rest) {
			w &^= todo & -todo
		}
	}
	return w
}

// searchPlaces is how many places of the texts are marked at a time.
const searchPlaces = 1 << 12

// searchStop is how many places are searched before the context is asked.
const searchStop = 1 << 22

// searchTexts looks for a pattern in the texts of a morsel, whose bytes lie one after
// another and are searched as one: most texts have no place that is marked, and
// cost what reading them does. A place that is belongs to a text; a pattern that
// goes on into the next one is in neither.
func searchTexts[T int32 | int64](ctx context.Context, l *loops, t texts[T], dst memory.Bitmap, m span, pattern []byte) error {
	f := &finder[T]{loops: l, ends: t.offsets[m.from : m.to+1], data: t.data, dst: dst, first: m.from, pattern: pattern, gap: int64(len(pattern) - 1)}
	at := int64(f.ends[0])
	end := int64(f.ends[len(f.ends)-1]) - f.gap // of the places
	for done := int64(0); at < end; {
		step := min(end-at, searchPlaces)
		f.places(at, step)
		at += step
		if done += step; done >= searchStop {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return err
			}
			done = 0
		}
	}
	return nil
}

// finder is a search in texts that lie one after another.
type finder[T int32 | int64] struct {
	loops   *loops
	ends    []T
	data    []byte
	dst     memory.Bitmap
	first   int64 // the row of the first text
	row     int   // the text that was found last
	pattern []byte
	gap     int64 // from a pattern's first byte to its last one
	marks   [searchPlaces / 8]byte
}

// places looks at the places [at, at+step).
func (f *finder[T]) places(at, step int64) {
	first, last := f.pattern[0], f.pattern[f.gap]
	whole := step &^ (pairStep - 1)
	f.loops.pairs.mark(f.marks[:whole/8], f.data[at:at+whole+f.gap], first, last, int(f.gap))
	for i := int64(0); i < whole; i += 64 {
		for w := binary.LittleEndian.Uint64(f.marks[i/8:]); w != 0; w &= w - 1 {
			f.marked(at + i + int64(bits.TrailingZeros64(w)))
		}
	}
	for p := at + whole; p < at+step; p++ {
		if f.data[p] == first && f.data[p+f.gap] == last {
			f.marked(p)
		}
	}
}

// marked looks whether the pattern is at a place, and in which text.
func (f *finder[T]) marked(p int64) {
	if f.gap > 1 && !bytes.Equal(f.data[p+1:p+f.gap], f.pattern[1:f.gap]) {
		return
	}
	f.seek(T(p))
	if p+f.gap < int64(f.ends[f.row+1]) {
		f.dst.Set(f.first + int64(f.row))
	}
}

// seek goes on to the text that a place is in: by steps that double, since it
// may be the next one or far away.
func (f *finder[T]) seek(p T) {
	step := 1
	for f.row+step+1 < len(f.ends) && f.ends[f.row+step] <= p {
		f.row += step
		step *= 2
	}
	for ; step > 0; step /= 2 {
		for f.row+step+1 < len(f.ends) && f.ends[f.row+step] <= p {
			f.row += step
		}
	}
}
