package exec

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

const (
	// keySpan is how far apart the least and the greatest key may lie for a bit each: so
	// many bits lie in a few caches, and no more than keyApart of them for a key are cleared
	// and looked up where there are many.
	keySpan  = 1 << 26
	keyClose = 1 << 23
	keyApart = 64
	// keyBits is how many bits of a Bloom filter there are for a key, at least: one of
	// about 100 keys that are not there passes. No filter has more than keySpan bits.
	keyBits = 16
	// keysListed is how many keys are told one by one, if no more than keysLooked rows have them.
	keysListed = 16
	keysLooked = 1 << 20
	// keySampled is how many words of 64 rows there are for one that a sample looks at.
	keySampled = 16
	// keysMost is how many rows a set is made of: of more it would take longer than a
	// call may take to stop.
	keysMost = 1 << 23
)

// KeySet is which keys the finished build side of a join has. Keys are whole numbers, dates
// or times. A set may have more keys than there are, and never fewer: rows that it leaves
// out have no match. It holds no null. It never changes, and any goroutine may use it.
type KeySet struct {
	min    int64
	span   uint64 // from the least key to the greatest
	some   bool
	exact  bool // words has a bit for each value from min on, and an empty word behind; else it is a Bloom filter
	words  []uint64
	shift  uint // of a Bloom filter: of hashes to words
	buffer *memory.Buffer
	list   []int64
}

// HoldsKeys reports whether key sets are made of columns of a type.
func HoldsKeys(t arrow.DataType) bool {
	id := t.ID()
	return arrow.IsInteger(id) || id == arrow.DATE32 || id == arrow.DATE64 || id == arrow.TIME32 || id == arrow.TIME64 || id == arrow.TIMESTAMP || id == arrow.DURATION
}

// NewKeySet makes the set of the values of a column of a type that HoldsKeys has, in host
// memory. ok is false where they are too many, or not all of them are numbers of 64
// bits with a sign.
func NewKeySet(a memory.Allocator, c *memory.Column) (k *KeySet, ok bool, err error) {
	if !HoldsKeys(c.Type()) || !c.Place().HostAccessible() || c.Len() > keysMost {
		return nil, false, nil
	}
	k = &KeySet{}
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	eachKey(c, func(v int64) { low, high = min(low, v), max(high, v) })
	if low > high {
		return k, true, nil
	}
	if c.Type().ID() == arrow.UINT64 && low < 0 {
		return nil, false, nil
	}
	k.some, k.min, k.span = true, low, uint64(high)-uint64(low)
	rows := uint64(c.Len())
	words := k.span/64 + 2
	if k.exact = k.span < keySpan && (k.span < keyClose || k.span <= keyApart*rows); !k.exact {
		words = uint64(slots.First(1 << bits.Len64(max(1, min(rows*keyBits, keySpan)/64)-1)))
		k.shift = uint(64 - bits.TrailingZeros64(words))
	}
	if k.buffer, err = memory.NewZeroed(a, int64(8*words)); err != nil {
		return nil, false, fmt.Errorf("keys of a join: %w", err)
	}
	k.words = memory.View[uint64](k.buffer)[:words]
	if k.exact {
		eachKey(c, func(v int64) {
			at := uint64(v) - uint64(low)
			k.words[at>>6] |= 1 << (at & 63)
		})
	} else {
		eachKey(c, func(v int64) {
			at, have := k.bloom(uint64(v))
			k.words[at] |= have
		})
	}
	k.listed(c)
	return k, true, nil
}

// listed lists the keys if they are few.
func (k *KeySet) listed(c *memory.Column) {
	if c.Len() > keysLooked {
		return
	}
	var list []int64
	eachKey(c, func(v int64) {
		if len(list) <= keysListed && !slices.Contains(list, v) {
			list = append(list, v)
		}
	})
	if len(list) <= keysListed {
		slices.Sort(list)
		k.list = list
	}
}

// Release gives the memory of the set back. On nil it does nothing.
func (k *KeySet) Release() {
	if k != nil {
		k.buffer.Release()
	}
}

// Bounds are the least and the greatest key; ok is false where there is none.
func (k *KeySet) Bounds() (low, high int64, ok bool) {
	return k.min, int64(uint64(k.min) + k.span), k.some
}

// Listed are the keys in order where they are few; nil where they are not.
func (k *KeySet) Listed() []int64 { return k.list }

// bloom is a word, and three bits of it, that a key has.
func (k *KeySet) bloom(v uint64) (at, have uint64) {
	h := v * 0x9e3779b97f4a7c15
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h &= slots.Kept
	return h >> k.shift & uint64(len(k.words)-1), 1<<(h&63) | 1<<(h>>6&63) | 1<<(h>>12&63)
}

// Keep clears in a mask of the rows of a column the rows whose key is surely not in the set,
// and those without a key. The column is of whole numbers or of the type that the set was
// made of.
func (k *KeySet) Keep(mask memory.Bitmap, c *memory.Column) { k.tested(mask, c, 1, mask.PutWord) }

// Sample tells of some rows that a mask has, spread over all, how many there are and how
// many of them Keep would keep.
func (k *KeySet) Sample(mask memory.Bitmap, c *memory.Column) (rows, kept int64) {
	k.tested(mask, c, keySampled, func(i, n int64, w uint64) {
		rows += int64(bits.OnesCount64(mask.Word(i, n)))
		kept += int64(bits.OnesCount64(w))
	})
	return rows, kept
}

// tested gives for one of so many words of a mask what is kept of it.
func (k *KeySet) tested(mask memory.Bitmap, c *memory.Column, every int64, each func(i, n int64, w uint64)) {
	switch memory.Width(c.Type()) {
	case 1:
		if c.Type().ID() == arrow.UINT8 {
			testKeys[uint8](k, mask, c, every, each)
		} else {
			testKeys[int8](k, mask, c, every, each)
		}
	case 2:
		if c.Type().ID() == arrow.UINT16 {
			testKeys[uint16](k, mask, c, every, each)
		} else {
			testKeys[int16](k, mask, c, every, each)
		}
	case 4:
		if c.Type().ID() == arrow.UINT32 {
			testKeys[uint32](k, mask, c, every, each)
		} else {
			testKeys[int32](k, mask, c, every, each)
		}
	default: // a uint64 past all int64 lies past the greatest key
		testKeys[int64](k, mask, c, every, each)
	}
}

type wholeNumber interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func testKeys[T wholeNumber](k *KeySet, mask memory.Bitmap, c *memory.Column, every int64, each func(i, n int64, w uint64)) {
	values := memory.Values[T](c)[:c.Len()]
	valid, nulls := c.Validity(), c.MayHaveNulls()
	for i := int64(0); i < c.Len(); i += 64 * every {
		n := min(64, c.Len()-i)
		w := mask.Word(i, n)
		if nulls {
			w &= valid.Word(c.Offset()+i, n)
		}
		if w != 0 {
			w &= keysAmong(k, values[i:i+n], w)
		}
		each(i, n, w)
	}
}

// keysAmong are the rows, of up to 64, whose keys are there, of those that w has.
func keysAmong[T wholeNumber](k *KeySet, values []T, w uint64) (out uint64) {
	if !k.some {
		return 0
	}
	low, span, words := uint64(k.min), k.span, k.words
	if !k.exact {
		for rest := w; rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros64(rest)
			v := uint64(int64(values[j]))
			if v-low > span {
				continue
			}
			if at, have := k.bloom(v); words[at]&have == have {
				out |= 1 << j
			}
		}
		return out
	}
	none := uint64(len(words)-1) << 6 // where no key is
	if bits.OnesCount64(w) > 16 {     // the loop without a branch; a bit of each row goes in at the top
		for _, v := range values {
			at := min(uint64(int64(v))-low, none)
			bit := uint64(0)
			if words[at>>6]&(1<<(at&63)) != 0 {
				bit = 1
			}
			out = bits.RotateLeft64(out|bit, -1)
		}
		return bits.RotateLeft64(out, len(values)) & w
	}
	for rest := w; rest != 0; rest &= rest - 1 {
		j := bits.TrailingZeros64(rest)
		at := min(uint64(int64(values[j]))-low, none)
		out |= words[at>>6] >> (at & 63) & 1 << j
	}
	return out
}

// eachKey gives the values of a column that are not null.
func eachKey(c *memory.Column, f func(int64)) {
	switch id := c.Type().ID(); memory.Width(c.Type()) {
	case 1:
		if id == arrow.UINT8 {
			eachValue[uint8](c, f)
		} else {
			eachValue[int8](c, f)
		}
	case 2:
		if id == arrow.UINT16 {
			eachValue[uint16](c, f)
		} else {
			eachValue[int16](c, f)
		}
	case 4:
		if id == arrow.UINT32 {
			eachValue[uint32](c, f)
		} else {
			eachValue[int32](c, f)
		}
	default:
		eachValue[int64](c, f)
	}
}

func eachValue[T wholeNumber](c *memory.Column, f func(int64)) {
	nulls := c.MayHaveNulls()
	for i, v := range memory.Values[T](c)[:c.Len()] {
		if !nulls || !c.IsNull(int64(i)) {
			f(int64(v))
		}
	}
}
