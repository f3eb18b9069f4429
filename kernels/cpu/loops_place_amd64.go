//go:build amd64 && !purego

package cpu

func (l *placeLoops) avx2() {
	l.close, l.seek, l.rank = wholeClose(closeAVX2), wholeSeek(seekAVX2), wholeRank(rankAVX2)
}

func (l *placeLoops) avx512() {
	l.close, l.seek, l.rank = wholeClose(closeAVX512), wholeSeek(seekAVX512), wholeRank(rankAVX512)
}

// wholeRank has assembly take whole steps of eight values.
func wholeRank(steps func(ids []uint32, values []uint64, base, limit uint64, entries []uint64)) func(ids []uint32, values []uint64, base, limit uint64, entries []uint64) {
	return func(ids []uint32, values []uint64, base, limit uint64, entries []uint64) {
		k := len(values) &^ 7
		steps(ids[:k], values[:k], base, limit, entries)
		rankPlaces(ids[k:], values[k:], base, limit, entries)
	}
}

// wholeClose has assembly take whole steps of eight values.
func wholeClose(steps func(ids []uint32, values []uint64, base, span uint64, places []uint32)) func(ids []uint32, values []uint64, base, span uint64, places []uint32) {
	return func(ids []uint32, values []uint64, base, span uint64, places []uint32) {
		k := len(values) &^ 7
		steps(ids[:k], values[:k], base, span, places)
		closePlaces(ids[k:], values[k:], base, span, places)
	}
}

// wholeSeek has assembly take whole steps of eight hashes.
func wholeSeek(steps func(ids []uint32, at []uint64, tags, rest []uint32, hashes, marks, slots []uint64, cut, region, stride uint64) (n int)) func(to *seekRoom, in *seekIn, hashes, marks []uint64) (rest int) {
	return func(to *seekRoom, in *seekIn, hashes, marks []uint64) (rest int) {
		k := len(hashes) &^ 7
		rest = steps(to.ids[:k], to.places[:k], to.tags[:k], to.rest[:k], hashes[:k], marks[:k], in.slots, uint64(in.cut), in.region, in.stride)
		return seekFrom(to, in, k, rest, hashes, marks)
	}
}
