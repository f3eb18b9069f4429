package cpu

import (
	"context"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

// keyspace turns the keys of a row into one 64-bit word. Where all key columns
// together have no more than 2^64 values within their ranges the word is exact:
// each column has its own bits, counted from its least value. Else it is a hash
// and equal words are held against the columns.
type keyspace struct {
	cols  []*keyColumn
	exact bool
	width uint   // bits of an exact word
	card  uint64 // exact words are below it; 0 for 2^64 and for hashes
	drop  bool   // rows with a null key are skipped
	bound bool   // of columns other than those that it was made of

	guessed bool // the range is a sample's, and words may be beyond it
}

// keyColumn is one column of a keyspace.
type keyColumn struct {
	c        *memory.Column
	encode   func(k *keyColumn, b *batch, dst []uint64) (skips bool)
	base     uint64 // what code 0 stands for
	span     uint64 // the greatest code of a value
	null     uint64 // the code of null
	nullable bool
	drop     bool // null is skipped
	probing  bool // codes above span are skipped
	shift    uint
	bits     uint     // of its codes; more than 64 where they do not fit
	codes    []uint64 // of a dictionary's values
	indexed  bool     // each code is the index that it is of
	lacks    bool     // some are missing
	numbers  []uint32 // of each row's text, which lie in held
	held     *memory.Buffer
	rising   bool // no value is below the one before it, and none is null
	words    *joinIndex
}

// missing is the code of a dictionary value that the other side has not got.
const missing = ^uint64(0)

// hashedNull stands for null in a hash.
const hashedNull = 0x8ebc6af09c88c6e3

// newKeyspace looks at the columns: their types, and the range of integers.
func newKeyspace(ctx context.Context, a *arena, cols []*memory.Column, drop bool) (*keyspace, error) {
	return keyspaceOf(ctx, a, cols, drop, make([]*keyColumn, len(cols)))
}

// keyspaceOf is newKeyspace with some of the columns planned beforehand.
func keyspaceOf(ctx context.Context, a *arena, cols []*memory.Column, drop bool, planned []*keyColumn) (*keyspace, error) {
	ks := &keyspace{drop: drop, exact: true}
	for i, c := range cols {
		k := planned[i]
		if k == nil {
			k = &keyColumn{c: c, drop: drop, nullable: c.MayHaveNulls()}
			if err := k.plan(ctx, a); err != nil {
				return nil, err
			}
		}
		ks.cols = append(ks.cols, k)
		k.shift = ks.width
		ks.width += k.bits
		if ks.width > 64 {
			ks.exact = false
		}
	}
	if !ks.exact {
		ks.width = 64
		for _, k := range ks.cols {
			k.shift, k.null = 0, hashedNull&slots.Kept
			if k.codes == nil {
				k.base, k.span = 0, ^uint64(0)
			}
		}
	} else if len(cols) == 1 {
		k := ks.cols[0]
		ks.card = k.span + 1
		if k.nullable && !drop && k.bits < 64 {
			ks.card = k.null + 1
		}
	} else if ks.width < 64 {
		ks.card = 1 << ks.width
	}
	return ks, nil
}

// withNull makes room for the code of null after those of values.
func (k *keyColumn) withNull() {
	top := k.span
	if k.null = k.span + 1; k.nullable && !k.drop {
		if top++; top == 0 {
			k.bits = 65
			return
		}
	}
	k.bits = uint(bits.Len64(top))
}

// plan chooses how the column is encoded and how many bits that takes.
func (k *keyColumn) plan(ctx context.Context, a *arena) error {
	var err error
	switch id := k.c.Type().ID(); id {
	case arrow.NULL:
		k.nullable, k.encode = true, encodeNull
		k.withNull()
	case arrow.BOOL:
		k.span, k.encode = 1, encodeBits
		k.withNull()
	case arrow.INT8:
		k.base, k.span, k.encode = ^uint64(127), 255, encodeInts[int8]
		k.withNull()
	case arrow.UINT8:
		k.span, k.encode = 255, encodeInts[uint8]
		k.withNull()
	case arrow.INT16:
		err = planInts[int16](ctx, k)
	case arrow.UINT16:
		err = planInts[uint16](ctx, k)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		err = planInts[int32](ctx, k)
	case arrow.UINT32:
		err = planInts[uint32](ctx, k)
	case arrow.UINT64:
		err = planInts[uint64](ctx, k)
	case arrow.FLOAT32:
		k.span, k.encode = 1<<32-1, encodeFloats[float32]
		k.withNull()
	case arrow.FLOAT64:
		// A NaN of all ones is none of the values: all NaNs are made one.
		k.span, k.null, k.bits, k.encode = ^uint64(0), ^uint64(0), 64, encodeFloats[float64]
	case arrow.DECIMAL128:
		k.bits, k.encode = 65, encodeDecimals
	case arrow.STRING, arrow.BINARY:
		k.bits, k.encode = 65, encodeStrings[int32]
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		k.bits, k.encode = 65, encodeStrings[int64]
	case arrow.DICTIONARY:
		err = k.planDictionary(ctx, a)
	default:
		err = planInts[int64](ctx, k)
	}
	return err
}

// planDictionary numbers the distinct values of the dictionary: those numbers
// are the codes, so that equal values under two indices are one key. Where all
// are distinct and none is null the codes are the indices.
func (k *keyColumn) planDictionary(ctx context.Context, a *arena) error {
	dict := k.c.Dictionary()
	index, err := newJoinIndex(ctx, a, []*memory.Column{dict}, false)
	if err != nil {
		return err
	}
	k.words = index
	k.nullable = k.nullable || dict.MayHaveNulls()
	k.span = uint64(max(index.n, 1) - 1)
	k.encode = dictionaryEncoder(k.c.Type())
	k.withNull()
	if k.indexed = index.unique && !dict.MayHaveNulls(); !k.indexed {
		return k.lookUp(ctx, a, dict)
	}
	codes, err := newVec[uint64](a, int(max(dict.Len(), 1)))
	for i := range codes.s {
		codes.s[i] = uint64(i)
	}
	k.codes = codes.s
	return err
}

// lookUp finds the codes of a dictionary's values.
func (k *keyColumn) lookUp(ctx context.Context, a *arena, dict *memory.Column) error {
	codes, err := newVec[uint64](a, int(max(dict.Len(), 1)))
	if err != nil {
		return err
	}
	finder, err := k.words.bind(ctx, a, []*memory.Column{dict})
	if err != nil {
		return err
	}
	k.codes, k.indexed, k.lacks = codes.s, false, false
	b := takeBatch()
	defer b.give()
	return batches(b, 0, dict.Len(), func() error {
		finder.find(b)
		for j := range b.n {
			code := uint64(b.ids[j]) - 1 // missing where there is none
			k.codes[int(b.from)+j] = code
			k.lacks = k.lacks || code == missing
		}
		return nil
	})
}

// bind is the keyspace over the same number of other columns of the same
// types, which are probed with: keys that cannot be among its own are skipped.
func (ks *keyspace) bind(ctx context.Context, a *arena, cols []*memory.Column) (*keyspace, error) {
	to := *ks
	to.cols, to.bound = nil, true
	for i, k := range ks.cols {
		p := *k
		p.c, p.probing = cols[i], ks.exact
		if p.c.MayHaveNulls() && !k.nullable && !k.drop && ks.exact {
			p.drop = true // the other side has no null to match
		}
		p.nullable = p.c.MayHaveNulls() || p.c.Type().ID() == arrow.NULL
		if k.words != nil {
			if p.nullable = p.nullable || p.c.Dictionary().MayHaveNulls(); p.nullable && !k.nullable {
				p.drop = true
			}
			if err := p.lookUp(ctx, a, p.c.Dictionary()); err != nil {
				return nil, err
			}
		}
		to.cols = append(to.cols, &p)
	}
	return &to, nil
}

// fill makes the words of a batch.
func (ks *keyspace) fill(b *batch) (skips bool) {
	dst := b.words[:b.n]
	clear(dst)
	if ks.mayskip() {
		clear(b.skip[:b.n])
	}
	if ks.exact {
		for _, k := range ks.cols {
			skips = k.encode(k, b, dst) || skips
		}
		return skips
	}
	part := b.part[:b.n]
	for _, k := range ks.cols {
		clear(part)
		skips = k.encode(k, b, part) || skips
		for j, p := range part {
			dst[j] = mix(bits.RotateLeft64(dst[j], 23) ^ p)
		}
	}
	return skips
}

func (ks *keyspace) mayskip() bool { return ks.drop || ks.bound }
