package cpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// match tells whether texts contain a pattern, or start or end with it.
func (l *loops) match(ctx context.Context, s device.Stream, op kernels.MatchOp, c *memory.Column, pattern string) (*memory.Column, error) {
	o := newOut(s, arrow.FixedWidthTypes.Boolean, c.Len())
	err := o.nullsOf(c)
	if err == nil {
		err = o.bits()
	}
	if err == nil {
		var f func(context.Context, span) error
		if memory.LayoutOf(c.Type()) == memory.LayoutBinary {
			f = matcher[int32](l, op, o.bitmap(1), c, []byte(pattern))
		} else {
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
		return func(_ context.Context, m span) error {
			matchEnds(t, dst, m, pattern, op == kernels.EndsWith)
			return nil
		}
	default:
		return func(ctx context.Context, m span) error {
			dst.Fill(m.from, m.to-m.from, false)
			return searchTexts(ctx, l, t, dst, m, pattern)
		}
	}
}

// matchEnds holds the first or the last bytes of texts against a pattern, eight
// of them by one comparison of words where there are so many in the column.
func matchEnds[T int32 | int64](t texts[T], dst memory.Bitmap, m span, pattern []byte, last bool) {
	k := len(pattern)
	var head [8]byte
	short := min(k, 8)
	copy(head[:], pattern)
	want, mask := binary.LittleEndian.Uint64(head[:]), ^uint64(0)>>(64-8*uint(short))
	rest := pattern[short:]
	limit := int64(len(t.data)) - 8
	for i := m.from; i < m.to; i += 64 {
		n, w := min(64, m.to-i), uint64(0)
		ends := t.offsets[i : i+n+1]
		for j := range n {
			from, to := int64(ends[j]), int64(ends[j+1])
			if to-from < int64(k) {
				continue
			}
			if last {
				from = to - int64(k)
			}
			same := false
			if from <= limit {
				same = (binary.LittleEndian.Uint64(t.data[from:])^want)&mask == 0
				same = same && (len(rest) == 0 || bytes.Equal(t.data[from+8:from+int64(k)], rest))
			} else {
				same = bytes.Equal(t.data[from:from+int64(k)], pattern)
			}
			if same {
				w |= 1 << uint(j)
			}
		}
		storeWord(dst, i, n, w)
	}
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
