package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// TestTallyTextsMixed has no bytes, all lengths that a slot holds, prefixes of each other and
// nulls among the keys, in a table, in parts and, with a text that is too long, in neither.
func TestTallyTextsMixed(t *testing.T) {
	defer func(large bool) { largeL2 = large }(largeL2)
	const rows = 60_000
	floats, ints := floatsWithNulls(t, rows), wholeInts(t, rows)
	typ := arrow.BinaryTypes.String
	for _, groups := range []int{40, 20_000} {
		for _, long := range []bool{false, true} {
			r := rand.New(rand.NewPCG(uint64(groups), 2))
			keys := makeColumn(t, typ, rows, func(i int) kernels.Scalar {
				k := r.IntN(groups)
				switch {
				case long && i == rows-9:
					return kernels.Text(typ, "a text of 16 by.")
				case k%29 == 3:
					return kernels.Null(typ)
				}
				return kernels.Text(typ, fmt.Sprintf("aaaaaaaaaa%05d", k)[k%16:])
			})
			for _, largeL2 = range []bool{false, true} {
				t.Run(fmt.Sprintf("%d groups, long %v, large cache %v", groups, long, largeL2), func(t *testing.T) {
					checkTallies(t, []*memory.Column{keys}, floats, false, !long)
					checkFirsts(t, []*memory.Column{keys}, ints, false, !long)
				})
			}
		}
	}
}

// TestTextTableHomes fills tables until most lines are full, so that searches go on behind
// the end of a part and of the table, and has each text visited in the part where its own begins.
func TestTextTableHomes(t *testing.T) {
	const bits, parts = 8, 4
	for seed := range uint64(20) {
		h := textTable[int64]{slots: vec[textSlot[int64]]{s: make([]textSlot[int64], 1<<bits)}, shift: 64 - bits}
		r := rand.New(rand.NewPCG(seed, 11))
		in := map[[2]uint64]int{}
		for len(in) < 1<<bits*9/10 {
			w := [2]uint64{r.Uint64N(4000), 2 << 56}
			if r.IntN(3) == 0 { // towards the end of the table
				for mixText(w[0], w[1])>>h.shift < 1<<bits-20 {
					w[0]++
				}
			}
			h.find(mixText(w[0], w[1])>>h.shift, w[0], w[1]).counts++
			in[w]++
		}
		if h.used != len(in) {
			t.Fatalf("%d texts are %d", len(in), h.used)
		}
		for part := range parts {
			h.eachHome(part, parts, func(s *textSlot[int64]) {
				w := [2]uint64{s.low, s.high}
				if int(s.counts) != in[w] || int(mixText(s.low, s.high)>>(64-2)) != part {
					t.Fatalf("%x has %d rows of %d, in part %d", w, s.counts, in[w], part)
				}
				delete(in, w)
			})
		}
		if len(in) != 0 {
			t.Fatalf("%d texts are not visited", len(in))
		}
	}
}
