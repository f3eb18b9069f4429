package cpu

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// textShapes are shapes of string keys: what two of them have in common is more
// than a table of groups looks at first.
var textShapes = map[string]func(r *rand.Rand, i int) string{
	"short":         func(r *rand.Rand, _ int) string { return strings.Repeat("a", r.IntN(21)) },
	"zero bytes":    func(r *rand.Rand, _ int) string { return strings.Repeat("\x00", r.IntN(21)) },
	"one letter":    func(r *rand.Rand, _ int) string { return strings.Repeat("x", r.IntN(3)) + string(rune('a'+r.IntN(2))) },
	"shared prefix": func(r *rand.Rand, _ int) string { return fmt.Sprintf("prefix_%07d", r.IntN(20_000)) },
	"middle": func(r *rand.Rand, _ int) string { // ends are equal, only bytes between them differ
		return fmt.Sprintf("headhead%04d%s", r.IntN(5000), "tailtail")
	},
	"long": func(r *rand.Rand, _ int) string {
		return strings.Repeat("=", 40) + fmt.Sprint(r.IntN(300)) + strings.Repeat("-", 40)
	},
	"equal":    func(*rand.Rand, int) string { return "the same in every row" },
	"distinct": func(_ *rand.Rand, i int) string { return fmt.Sprint("k", i) },
	"half of one": func(r *rand.Rand, i int) string { // more than room to spare
		return fmt.Sprint("h", i%2*r.IntN(20_000))
	},
}

func TestGroupTexts(t *testing.T) {
	const rows = 60_000
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary}
	for at, name := range slices.Sorted(maps.Keys(textShapes)) {
		shape, typ := textShapes[name], types[at%len(types)]
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			keys := makeColumn(t, typ, rows, func(i int) kernels.Scalar {
				text := shape(r, i)
				if at%2 == 0 && i%13 == 5 {
					return kernels.Null(typ)
				}
				return kernels.Text(typ, text)
			})
			values := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar { return kernels.Int64(int64(i)) })
			ctx := context.Background()
			eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
				s, err := b.NewStream()
				if err != nil {
					return nil, err
				}
				defer s.Close()
				one := []*memory.Column{keys}
				g, err := b.Group(ctx, s, one, kernels.GroupOptions{DropNullKeys: at%4 == 0})
				if err != nil {
					return nil, err
				}
				by, err := b.GroupBy(ctx, s, one, []kernels.Aggregate{
					{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Min, Values: values}, {Op: kernels.Last, Values: keys},
				}, kernels.GroupOptions{DropNullKeys: at%4 == 0})
				if err != nil {
					return nil, err
				}
				return append([]*memory.Column{g.IDs, g.First, by.First}, by.Values...), nil
			})
		})
	}
}

// Texts of which many are null go by parts or whole tables, with values that are null
// as well: evenly, and with a text so frequent that its part has no room for it.
func TestTallyTextNulls(t *testing.T) {
	const rows, groups = 300_000, 60_000
	floats, ints, typ := floatsWithNulls(t, rows), wholeInts(t, rows), arrow.BinaryTypes.String
	for _, often := range []int{0, 40} {
		t.Run(fmt.Sprint(often), func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, uint64(often)))
			keys := makeColumn(t, typ, rows, func(i int) kernels.Scalar {
				switch k := r.IntN(100); {
				case k < 30:
					return kernels.Null(typ)
				case k < 30+often:
					return kernels.Text(typ, "often")
				}
				return kernels.Text(typ, fmt.Sprintf("key_%06d", r.IntN(groups)))
			})
			checkTallies(t, []*memory.Column{keys}, floats, false, true)
			checkFirsts(t, []*memory.Column{keys}, ints, false, true)
		})
	}
}

// A frequent null does not make the other groups seem few.
func TestEstimateBesideNulls(t *testing.T) {
	const rows, groups = 200_000, 20_000
	r := rand.New(rand.NewPCG(3, 9))
	typ := arrow.BinaryTypes.String
	keys := makeColumn(t, typ, rows, func(int) kernels.Scalar {
		if r.IntN(10) < 3 {
			return kernels.Null(typ)
		}
		return kernels.Text(typ, fmt.Sprint(r.IntN(groups)))
	})
	ks := &keyspace{cols: []*keyColumn{{c: keys, nullable: true, null: hashedNull, encode: encodeStrings[int32]}}}
	if guess := estimateGroups(ks, rows, 0); guess < groups*9/10 || guess > groups*11/10 {
		t.Errorf("%d groups are guessed to be %d", groups, guess)
	}
}
