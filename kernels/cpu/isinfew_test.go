package cpu

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// Values among few, of each way that few are compared, are those that the reference
// tells, on every tier, also where nulls and long texts are on either side.
func TestIsInFew(t *testing.T) {
	text, wide := arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString
	words := []string{"", "a", "ab", "MAIL", "SHIP", "AIR", "REG AIR", "TRUCK", "eightchr", "eightch", "ninechars", "fifteen letters", "fifteen letterz",
		"sixteen letters!", "DELIVER IN PERSON", "DELIVER IN PERSOM", "\x00", "a\x00", strings.Repeat("long ", 40), "FOB"}
	texts := func(typ arrow.DataType) func(r *rand.Rand) kernels.Scalar {
		return func(r *rand.Rand) kernels.Scalar { return kernels.Text(typ, words[r.IntN(len(words))]) }
	}
	shorts := func(r *rand.Rand) kernels.Scalar { return kernels.Text(text, words[r.IntN(13)]) }
	floats := []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.NaN(), -7.5}
	u64, f32 := arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32
	for name, c := range map[string]struct {
		typ       arrow.DataType
		set, draw func(r *rand.Rand) kernels.Scalar
	}{
		"short among short": {text, shorts, shorts},
		"short among all":   {text, shorts, texts(text)},
		"all among all":     {text, texts(text), texts(text)},
		"wide offsets":      {wide, texts(wide), texts(wide)},
		"int64": {arrow.PrimitiveTypes.Int64, func(r *rand.Rand) kernels.Scalar { return kernels.Int64(r.Int64N(40) - 20) },
			func(r *rand.Rand) kernels.Scalar { return kernels.Int64(r.Int64N(60) - 30) }},
		"uint64": {u64, func(r *rand.Rand) kernels.Scalar { return kernels.Int(u64, -1-r.Int64N(9)) },
			func(r *rand.Rand) kernels.Scalar { return kernels.Int(u64, -1-r.Int64N(19)) }},
		"int8": {arrow.PrimitiveTypes.Int8, func(r *rand.Rand) kernels.Scalar {
			return kernels.Int(arrow.PrimitiveTypes.Int8, r.Int64N(256)-128)
		}, func(r *rand.Rand) kernels.Scalar {
			return kernels.Int(arrow.PrimitiveTypes.Int8, r.Int64N(256)-128)
		}},
		"float32": {f32, func(r *rand.Rand) kernels.Scalar { return kernels.Float(f32, floats[r.IntN(len(floats))]) },
			func(r *rand.Rand) kernels.Scalar { return kernels.Float(f32, floats[r.IntN(len(floats))]) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for _, k := range []int{0, 1, 2, 3, 7, 16, 17} {
				for _, nulls := range []int{0, 1, 2, 3} { // bits: in the set, in the column
					column := func(n int, draw func(r *rand.Rand) kernels.Scalar, some bool) *memory.Column {
						return makeColumn(t, c.typ, n, func(i int) kernels.Scalar {
							if some && (i == 1 || i%11 == 4) {
								return kernels.Null(c.typ)
							}
							return draw(r)
						})
					}
					set, values := column(k, c.set, nulls&1 != 0), column(9000, c.draw, nulls&2 != 0)
					values, err := values.Slice(77, values.Len()-80)
					require.NoError(t, err)
					defer values.Release()
					requireIsIn(t, values, set)
				}
			}
		})
	}
}

// requireIsIn holds what each tier says of values against the reference.
func requireIsIn(t *testing.T, values, set *memory.Column) {
	t.Helper()
	var want *memory.Column
	for _, kernelSet := range append([]*kernels.Set{reference.New()}, Tiers()...) {
		d := host.New()
		b := &kernels.Backend{Device: d, Set: kernelSet}
		s, err := b.NewStream()
		require.NoError(t, err)
		got, err := b.IsIn(context.Background(), s, values, set)
		require.NoError(t, err)
		if want == nil {
			want = got
		} else {
			require.NoError(t, kerneltest.Equal(got, want, kerneltest.Tolerance{}), "%s, a set of %d", kernelSet.Name, set.Len())
			got.Release()
		}
		require.NoError(t, s.Close())
		defer d.Close()
	}
	want.Release()
}

// Texts whose hashes no choice of bits tells apart have no places.
func TestTextPlaces(t *testing.T) {
	same := []string{"a", "b", "a", "", ""}
	var few [][]byte
	for _, v := range same {
		few = append(few, []byte(v))
	}
	require.NotNil(t, newTextPlaces(few), "texts that come again")
	for i := range 4 * textPlaced {
		few = append(few, []byte{byte(i), byte(i >> 8), 'x'})
	}
	require.Nil(t, newTextPlaces(few), "more texts than places")
}
