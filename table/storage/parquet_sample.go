package storage

import (
	"math/rand/v2"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const (
	// sampledRows is how many values a dictionary is judged by. Of 131,072 values,
	// the most that a dictionary of int64 has, 4096 drawn meet each other 64 times.
	sampledRows = 1 << 12
	// dictionaryBytes is how large arrow-go lets a dictionary become before it
	// gives it up.
	dictionaryBytes = 1 << 20
)

// worthDictionary guesses from a sample whether values repeat enough for a
// dictionary. One that is given up when it is too large costs several times what
// it takes to write the values as they are. The sample depends on nothing but
// the values.
func worthDictionary(parts []arrow.Array, rows int64) bool {
	if rows < 4*sampledRows {
		return true
	}
	hashes := make([]func(i int) (hash uint64, bytes int), len(parts))
	ends := make([]int64, len(parts))
	end := int64(0)
	for k, a := range parts {
		if hashes[k] = hasher(a); hashes[k] == nil {
			return true
		}
		end += int64(a.Len())
		ends[k] = end
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := make(map[uint64]bool, sampledRows)
	values, bytes := 0, 0
	for range sampledRows {
		row := rng.Int64N(rows)
		k := sort.Search(len(ends), func(k int) bool { return ends[k] > row })
		i := int(row - (ends[k] - int64(parts[k].Len())))
		if parts[k].IsNull(i) {
			continue
		}
		h, n := hashes[k](i)
		seen[h] = true
		values++
		bytes += n
	}
	met := values - len(seen)
	if met == 0 {
		return values < 64 // too few values to know
	}
	distinct := float64(values) * float64(values) / float64(2*met)
	return distinct*float64(bytes)/float64(values) <= dictionaryBytes && distinct <= float64(rows)*3/4
}

// hasher gives a hash and the size of a value, or nil for types whose
// dictionaries cost little.
func hasher(a arrow.Array) func(i int) (uint64, int) {
	switch a := a.(type) {
	case *array.String:
		return func(i int) (uint64, int) { return textHash(a.Value(i)), len(a.Value(i)) + 4 }
	case *array.LargeString:
		return func(i int) (uint64, int) { return textHash(a.Value(i)), len(a.Value(i)) + 4 }
	case *array.Binary:
		return func(i int) (uint64, int) { return textHash(string(a.Value(i))), len(a.Value(i)) + 4 }
	case *array.LargeBinary:
		return func(i int) (uint64, int) { return textHash(string(a.Value(i))), len(a.Value(i)) + 4 }
	}
	t, fixed := a.DataType().(arrow.FixedWidthDataType)
	if !fixed || a.DataType().ID() == arrow.DICTIONARY || t.BitWidth() < 32 || t.BitWidth()%8 != 0 || len(a.Data().Buffers()) != 2 {
		return nil
	}
	width := t.BitWidth() / 8
	bytes := a.Data().Buffers()[1].Bytes()[a.Data().Offset()*width:]
	return func(i int) (uint64, int) { return textHash(string(bytes[i*width : (i+1)*width])), width }
}

// textHash is FNV-1a of 64 bits.
func textHash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
