//go:build amd64 && !purego

package cpu

func (l *placeLoops) avx512() { l.close, l.seek = wholeClose, wholeSeek }

// wholeClose has assembly take whole steps of eight values.
func wholeClose(ids []uint32, values []uint64, base, span uint64, places []uint32) {
	k := len(values) &^ 7
	closeAVX512(ids[:k], values[:k], base, span, places)
	closePlaces(ids[k:], values[k:], base, span, places)
}

// wholeSeek has assembly take whole steps of eight hashes.
func wholeSeek(to *seekRoom, in *seekIn, hashes, marks []uint64) (rest int) {
	k := len(hashes) &^ 7
	rest = seekAVX512(to.ids[:k], to.places[:k], to.tags[:k], to.rest[:k], hashes[:k], marks[:k], in.slots, uint64(in.cut), in.region, in.stride)
	return seekFrom(to, in, k, rest, hashes, marks)
}
