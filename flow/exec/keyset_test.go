package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func keyColumn(t *testing.T, typ arrow.DataType, values []int64, null func(i int) bool) *memory.Column {
	t.Helper()
	all := make([]kernels.Scalar, len(values)+3)
	for i := range all {
		all[i] = kernels.Int(typ, 77)
		if i >= 3 {
			all[i] = kernels.Int(typ, values[i-3])
			if null(i - 3) {
				all[i] = kernels.Null(typ)
			}
		}
	}
	c, err := kernels.FromScalars(memory.Heap, typ, all)
	require.NoError(t, err)
	defer c.Release()
	s, err := c.Slice(3, int64(len(values)))
	require.NoError(t, err)
	t.Cleanup(s.Release)
	return s
}

func ones(n int) memory.Bitmap {
	m := make(memory.Bitmap, memory.BitmapBytes(int64(n)))
	m.Fill(0, int64(n), true)
	return m
}

// A set of each type keeps all rows that have one of its keys, and of others none where it is exact and
// few where it is a Bloom filter; slices, nulls and masks with holes among them.
func TestKeySet(t *testing.T) { keySetsKeep(t, 50) }

// Where all hashes of a Bloom filter are equal, or parts of them, or it has four words, no key is lost.
func TestKeySetOfEqualHashes(t *testing.T) {
	for _, trial := range slots.Trials() {
		t.Run(trial.Name, func(t *testing.T) {
			defer trial.Begin()()
			keySetsKeep(t, 1000)
		})
	}
}

// keySetsKeep holds sets to their keys, and to fewer than most others.
func keySetsKeep(t *testing.T, most int) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	for _, typ := range []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint8,
		arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
		arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_ns,
	} {
		for name, far := range map[string]int64{"close": 100, "apart": math.MaxInt64 / 2} {
			for _, nulls := range []bool{false, true} {
				value := func() int64 { return kernels.Int(typ, r.Int64N(far)&math.MaxInt64).Int64() }
				null := func(i int) bool { return nulls && i%5 == 1 }
				build, probe := make([]int64, 70), make([]int64, 1000)
				for i := range build {
					build[i] = value()
				}
				for i := range probe {
					if probe[i] = value(); i%3 == 0 {
						probe[i] = build[i%len(build)]
					}
				}
				k, ok, err := NewKeySet(memory.Heap, keyColumn(t, typ, build, null))
				require.NoError(t, err)
				require.True(t, ok)
				have := map[int64]bool{}
				for i, v := range build {
					if !null(i) {
						have[v] = true
					}
				}
				mask := ones(len(probe))
				for i := int64(200); i < 300; i++ {
					mask.Clear(i)
				}
				k.Keep(mask, keyColumn(t, typ, probe, null))
				wrong := 0
				for i, v := range probe {
					may := !null(i) && (i < 200 || i >= 300)
					if may && have[v] {
						require.True(t, mask.Get(int64(i)), "%s %s: key %d of row %d is lost", typ, name, v, i)
					} else if mask.Get(int64(i)) {
						require.True(t, may)
						wrong++
					}
				}
				if k.exact {
					require.Zero(t, wrong, "%s %s", typ, name)
				}
				require.Less(t, wrong, most, "%s %s", typ, name)
				k.Release()
			}
		}
	}
}

// All hashes equal to one: a Bloom filter of one word never loses a key.
func TestKeySetOfOneWord(t *testing.T) {
	none := func(int) bool { return false }
	build := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	k, ok, err := NewKeySet(memory.Heap, keyColumn(t, arrow.PrimitiveTypes.Int64, build, none))
	require.NoError(t, err)
	require.True(t, ok)
	defer k.Release()
	require.False(t, k.exact)
	for i := range k.words {
		k.words[i] = math.MaxUint64
	}
	low, high, some := k.Bounds()
	require.Equal(t, fmt.Sprint(math.MinInt64, math.MaxInt64, true), fmt.Sprint(low, high, some))
	require.Equal(t, build, k.Listed())
	mask := ones(len(build))
	k.Keep(mask, keyColumn(t, arrow.PrimitiveTypes.Int64, build, none))
	require.Equal(t, int64(len(build)), mask.Count(0, int64(len(build))))
}

// A set of no keys keeps nothing; one of values past int64, or of other types, is not made; without
// memory there is none, and the error says so.
func TestKeySetsThatAreNotMade(t *testing.T) {
	none, all := func(int) bool { return false }, func(int) bool { return true }
	probe := keyColumn(t, arrow.PrimitiveTypes.Int64, []int64{0, 1, -1}, none)
	for _, empty := range []*memory.Column{keyColumn(t, arrow.PrimitiveTypes.Int64, nil, none), keyColumn(t, arrow.PrimitiveTypes.Int64, []int64{0, 1}, all)} {
		k, ok, err := NewKeySet(memory.Heap, empty)
		require.NoError(t, err)
		require.True(t, ok)
		_, _, some := k.Bounds()
		require.False(t, some)
		mask := ones(3)
		k.Keep(mask, probe)
		require.Zero(t, mask.Count(0, 3))
		k.Release()
	}
	_, ok, err := NewKeySet(memory.Heap, keyColumn(t, arrow.PrimitiveTypes.Uint64, []int64{5, -1}, none))
	require.NoError(t, err)
	require.False(t, ok)
	floats, err := kernels.FromScalars(memory.Heap, arrow.PrimitiveTypes.Float64, []kernels.Scalar{kernels.Float64(1)})
	require.NoError(t, err)
	defer floats.Release()
	_, ok, err = NewKeySet(memory.Heap, floats)
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = NewKeySet(memory.NewLimited(memory.Heap, 10), keyColumn(t, arrow.PrimitiveTypes.Int64, []int64{0, 1000}, none))
	require.ErrorIs(t, err, memory.ErrOutOfMemory)
	require.False(t, ok)
	k, _, err := NewKeySet(memory.Heap, keyColumn(t, arrow.PrimitiveTypes.Uint64, []int64{5, 9}, none)) // a uint64 past int64 is no key
	require.NoError(t, err)
	defer k.Release()
	mask := ones(3)
	k.Keep(mask, keyColumn(t, arrow.PrimitiveTypes.Uint64, []int64{5, -1, math.MinInt64}, none))
	require.Equal(t, int64(1), mask.Count(0, 3))
}

// A sample tells which part of the rows of a mask stays.
func TestKeySetSample(t *testing.T) {
	none := func(int) bool { return false }
	probe := make([]int64, 64*64)
	for i := range probe {
		probe[i] = int64(i % 4)
	}
	k, _, err := NewKeySet(memory.Heap, keyColumn(t, arrow.PrimitiveTypes.Int64, []int64{1}, none))
	require.NoError(t, err)
	defer k.Release()
	rows, kept := k.Sample(ones(len(probe)), keyColumn(t, arrow.PrimitiveTypes.Int64, probe, none))
	require.Equal(t, [2]int64{256, 64}, [2]int64{rows, kept})
}
