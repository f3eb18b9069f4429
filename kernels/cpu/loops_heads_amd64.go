//go:build amd64 && !purego

package cpu

import "unsafe"

func headsAVX2(narrow *headLoops[int32], wide *headLoops[int64]) {
	narrow.whole(matchHeads32AVX2, orderHeads32AVX2, pairHeads32AVX2)
	wide.whole(matchHeads64AVX2, orderHeads64AVX2, pairHeads64AVX2)
}

func headsAVX512(narrow *headLoops[int32], wide *headLoops[int64]) {
	narrow.whole(matchHeads32AVX512, orderHeads32AVX512, pairHeads32AVX512)
	wide.whole(matchHeads64AVX512, orderHeads64AVX512, pairHeads64AVX512)
}

// deepText: eight bytes more of 64 texts take as long as comparing three of them one by
// one, whose lengths and differences the processor cannot foretell.
const deepText = 64

// whole has assembly take eight texts at a time, all whose eight bytes lie in data, and
// the loop in Go the last ones of a column and what is left.
func (l *headLoops[T]) whole(
	match func(dst []byte, offsets, places []T, data *byte, place, least, most int64, want, mask uint64),
	order func(below, open []byte, offsets []T, data *byte, skip int, want uint64, size int64),
	pairs func(below, same, open []byte, a, b []T, x, y *byte, skip int),
) {
	rest := *l
	l.deep = deepText
	l.match = func(dst []byte, offsets []T, data []byte, p *textPiece) {
		n := len(offsets) - 1
		places := offsets[:n]
		if p.last {
			places = offsets[1:]
		}
		k := readable(places, int64(len(data))-8-p.place)
		match(dst[:k/8], offsets, places, unsafe.SliceData(data), p.place, p.least, p.most, p.want, p.mask)
		if k < n {
			rest.match(dst[k/8:], offsets[k:], data, p)
		}
	}
	l.order = func(below, open []byte, offsets []T, data []byte, skip int, want uint64, size int64) {
		n := len(offsets) - 1
		k := readable(offsets[:n], int64(len(data))-8-int64(skip))
		order(below[:k/8], open, offsets, unsafe.SliceData(data), skip, want, size)
		if k < n {
			rest.order(below[k/8:], open[k/8:], offsets[k:], data, skip, want, size)
		}
	}
	l.pairs = func(below, same, open []byte, a, b texts[T], skip int) {
		n := len(a.offsets) - 1
		k := readable(a.offsets[:n], int64(len(a.data))-8-int64(skip))
		k = min(k, readable(b.offsets[:k], int64(len(b.data))-8-int64(skip)))
		pairs(below[:k/8], same, open, a.offsets, b.offsets, unsafe.SliceData(a.data), unsafe.SliceData(b.data), skip)
		if k < n {
			a.offsets, b.offsets = a.offsets[k:], b.offsets[k:]
			rest.pairs(below[k/8:], same[k/8:], open[k/8:], a, b, skip)
		}
	}
}
