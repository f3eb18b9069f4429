package cpu

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// seekRows is how many rows are offered after seek found one of them.
const seekRows = 64

// seekable makes the level of a single key whose values can be compared as they
// are with the greatest that was kept, by its seek: numbers, dates and times
// without nulls. Its words are those of all of the type, so that the column
// need not be read for its least and greatest first; it is nil for other keys.
func seekable[R row](keys []kernels.SortKey) []level[R] {
	if len(keys) != 1 || hasNulls(keys[0].Values) {
		return nil
	}
	key := keys[0]
	f := field[R]{column: key.Values, flip: key.Descending, bits: 64}
	if f.flip {
		f.from = math.MaxUint64
	}
	l := level[R]{bits: 64}
	switch c := key.Values; c.Type().ID() {
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		l.seek = seekSigned(memory.Values[int32](c), f.flip)
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		l.seek = seekSigned(memory.Values[int64](c), f.flip)
	case arrow.UINT32:
		l.seek = seekUnsigned(memory.Values[uint32](c), f.flip)
	case arrow.UINT64:
		l.seek = seekUnsigned(memory.Values[uint64](c), f.flip)
	case arrow.FLOAT32:
		f.nanAtEnd(key, word32(float32(math.Inf(1))))
		l.seek = seekFloats(memory.Values[float32](c), key, func(code uint64) (float32, bool) {
			w := f.wordOf(code)
			b := uint32(w)
			if b>>31 != 0 {
				b ^= 1 << 31
			} else {
				b = ^b
			}
			return math.Float32frombits(b), w == nanWord
		})
	case arrow.FLOAT64:
		f.nanAtEnd(key, word64(math.Inf(1)))
		l.seek = seekFloats(memory.Values[float64](c), key, func(code uint64) (float64, bool) {
			w := f.wordOf(code)
			b := w ^ 1<<63
			if w>>63 == 0 {
				b = ^w
			}
			return math.Float64frombits(b), w == nanWord
		})
	default:
		return nil
	}
	f.words = fixedWords[R](key.Values)
	l.fields = []field[R]{f}
	return []level[R]{l}
}

// nanAtEnd makes nanWord, the greatest word, the least code or the greatest, as
// the key wants it: the subtraction that makes codes wraps round for it.
// infinity is the greatest word of a value.
func (f *field[R]) nanAtEnd(key kernels.SortKey, infinity uint64) {
	switch {
	case key.NullsFirst && !f.flip:
		f.from = nanWord
	case !key.NullsFirst && f.flip:
		f.from = infinity
	}
}

// wordOf is the word of a code of a field without nulls.
func (f *field[R]) wordOf(code uint64) uint64 {
	if f.flip {
		return f.from - code
	}
	return code + f.from
}

func seekSigned[T int32 | int64](v []T, flip bool) func(from, to int64, bound uint64) int64 {
	if flip {
		return func(from, to int64, bound uint64) int64 {
			return from + seekGreater(v[from:to], T(^bound^1<<63))
		}
	}
	return func(from, to int64, bound uint64) int64 { return from + seekLess(v[from:to], T(bound^1<<63)) }
}

func seekUnsigned[T uint32 | uint64](v []T, flip bool) func(from, to int64, bound uint64) int64 {
	if flip {
		return func(from, to int64, bound uint64) int64 { return from + seekGreater(v[from:to], T(^bound)) }
	}
	return func(from, to int64, bound uint64) int64 { return from + seekLess(v[from:to], T(bound)) }
}

// seekFloats seeks what stands before a bound, of which value gives the float
// and whether it is a NaN.
func seekFloats[T float32 | float64](v []T, key kernels.SortKey, value func(code uint64) (T, bool)) func(from, to int64, bound uint64) int64 {
	return func(from, to int64, bound uint64) int64 {
		b, nan := value(bound)
		part := v[from:to]
		switch {
		case nan && key.NullsFirst: // nothing is before a NaN
			return to
		case nan: // what is no NaN is
			return from + seekNumber(part)
		case key.NullsFirst && key.Descending:
			return from + seekNotUpTo(part, b)
		case key.NullsFirst:
			return from + seekNotFrom(part, b)
		case key.Descending:
			return from + seekGreater(part, b)
		default:
			return from + seekLess(part, b)
		}
	}
}

// seekLess gives the first place of a value less than b, or len(v).
func seekLess[T int32 | int64 | uint32 | uint64 | float32 | float64](v []T, b T) int64 {
	i := 0
	for ; i+8 <= len(v); i += 8 {
		p := v[i : i+8 : i+8]
		if p[0] < b || p[1] < b || p[2] < b || p[3] < b || p[4] < b || p[5] < b || p[6] < b || p[7] < b {
			break
		}
	}
	for i < len(v) && !(v[i] < b) {
		i++
	}
	return int64(i)
}

// seekGreater gives the first place of a value greater than b, or len(v).
func seekGreater[T int32 | int64 | uint32 | uint64 | float32 | float64](v []T, b T) int64 {
	i := 0
	for ; i+8 <= len(v); i += 8 {
		p := v[i : i+8 : i+8]
		if p[0] > b || p[1] > b || p[2] > b || p[3] > b || p[4] > b || p[5] > b || p[6] > b || p[7] > b {
			break
		}
	}
	for i < len(v) && !(v[i] > b) {
		i++
	}
	return int64(i)
}

// seekNotFrom gives the first place of a value that is less than b or a NaN.
func seekNotFrom[T float32 | float64](v []T, b T) int64 {
	i := 0
	for i < len(v) && v[i] >= b {
		i++
	}
	return int64(i)
}

// seekNotUpTo gives the first place of a value that is greater than b or a NaN.
func seekNotUpTo[T float32 | float64](v []T, b T) int64 {
	i := 0
	for i < len(v) && v[i] <= b {
		i++
	}
	return int64(i)
}

// seekNumber gives the first place of what is no NaN.
func seekNumber[T float32 | float64](v []T) int64 {
	i := 0
	for i < len(v) && v[i] != v[i] {
		i++
	}
	return int64(i)
}

// leastSought offers the rows of a morsel that can be among the k least: once
// that many are kept, only those that seek finds, with the rows after them.
func (h *kept[R]) leastSought(l *level[R], room *scratch, s span, k int) {
	for from := s.from; from < s.to; {
		step := int64(block)
		if len(h.pairs) == k {
			if from = l.seek(from, s.to, h.pairs[0].word); from == s.to {
				return
			}
			step = seekRows
		}
		to := min(from+step, s.to)
		words := room.words[:to-from]
		l.fill(words, room.raw[:], nil, from, 0)
		h.offer(words, func(i int) R { return R(from) + R(i) }, k)
		from = to
	}
}
