package cpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

func dictionaryEncoder(t arrow.DataType) func(*keyColumn, *batch, []uint64) bool {
	switch t.(*arrow.DictionaryType).IndexType.ID() {
	case arrow.INT8:
		return encodeIndices[int8]
	case arrow.INT16:
		return encodeIndices[int16]
	case arrow.INT32:
		return encodeIndices[int32]
	case arrow.INT64:
		return encodeIndices[int64]
	case arrow.UINT8:
		return encodeIndices[uint8]
	case arrow.UINT16:
		return encodeIndices[uint16]
	case arrow.UINT32:
		return encodeIndices[uint32]
	default:
		return encodeIndices[uint64]
	}
}

// encodeIndices encodes a dictionary's column: by the indices alone where they are
// the codes, else by the codes of the dictionary's values.
func encodeIndices[T integer](k *keyColumn, b *batch, dst []uint64) (skips bool) {
	switch {
	case k.lacks || b.rows != nil && k.c.Validity() != nil:
		return encodeLooked[T](k, b, dst)
	case b.rows != nil:
		indices, shift := memory.Values[T](k.c), k.shift
		for j, row := range b.rows[:len(dst)] {
			dst[j] |= k.codes[indices[row]] << (shift & 63)
		}
		return false
	case k.c.Validity() != nil:
		return encodeNullIndices[T](k, b, dst)
	}
	indices, shift := memory.Values[T](k.c)[b.from:][:len(dst)], k.shift
	if !k.indexed {
		for j, i := range indices {
			dst[j] |= k.codes[i] << (shift & 63)
		}
		return false
	}
	greatest := uint64(0)
	for j, i := range indices {
		code := uint64(i)
		greatest = max(greatest, code)
		dst[j] |= code << (shift & 63)
	}
	_ = k.codes[greatest]
	return false
}

// encodeNullIndices encodes rows of which some are null, without branches. The
// dictionary has a code for each of its values.
func encodeNullIndices[T integer](k *keyColumn, b *batch, dst []uint64) (skips bool) {
	indices, codes, null, shift := memory.Values[T](k.c)[b.from:][:len(dst)], k.codes, k.null, k.shift
	if k.drop {
		null = 0
	}
	greatest := uint64(0)
	for at := 0; at < len(dst); at += 64 {
		n := min(64, len(dst)-at)
		word := k.c.Validity().Word(k.c.Offset()+int64(b.from)+int64(at), int64(n))
		from, to := indices[at:][:n], dst[at:][:n]
		if k.drop {
			for j := range from {
				drop := word>>(uint(j)&63)&1 == 0
				b.skip[at+j] = b.skip[at+j] || drop
				skips = skips || drop
			}
		}
		for j, i := range from {
			keep := -(word & 1)
			code := uint64(i) & keep
			if k.indexed {
				greatest = max(greatest, code)
			} else {
				code = codes[code] & keep
			}
			to[j] |= (code | null&^keep) << (shift & 63)
			word >>= 1
		}
	}
	_ = codes[greatest]
	return skips
}

// encodeLooked encodes rows of any kind, of a dictionary that may have nulls or
// values that the other side has not got.
func encodeLooked[T integer](k *keyColumn, b *batch, dst []uint64) (skips bool) {
	indices, valid, off := memory.Values[T](k.c), k.c.Validity(), k.c.Offset()
	for j := range dst {
		row := b.row(j)
		code := missing
		null := valid != nil && !valid.Get(off+int64(row))
		if !null {
			if code = k.codes[indices[row]]; code == missing {
				null = k.c.Dictionary().IsNull(int64(indices[row]))
			}
		}
		switch {
		case null:
			if code = k.null; k.drop {
				b.skip[j], skips, code = true, true, 0
			}
		case code == missing:
			b.skip[j], skips, code = true, true, 0
		}
		dst[j] |= code << k.shift
	}
	return skips
}
