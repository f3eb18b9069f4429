package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/memory"
)

// The words of records that go by way of lines are those of others, for words and for
// hashes, with values that may be null and without.
func TestRecordWords(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed, 71))
	for _, byWords := range []bool{true, false} {
		for _, nulls := range []bool{false, true} {
			p := &tallyParts[int64]{tallying: &tallying[int64]{base: 12345}, parts: 8, back: 61}
			if byWords {
				p.low = 7
			}
			if nulls {
				p.valid = memory.Bitmap{255}
				if !byWords {
					p.up = 1
				}
			}
			for range 200 {
				words, values, incs := []uint64{p.base + r.Uint64N(1<<40)}, []uint64{r.Uint64()}, []uint64{r.Uint64N(2)<<32 | oneRow}
				want, next := make([]tallyRecord, 1), make([]uint32, 8)
				if byWords {
					p.writeWords(want, next, words, values, incs)
				} else {
					p.writeHashes(want, next, words, values, incs)
				}
				if got := p.recordWords(make([]uint64, 1), words, incs, nil, byWords); got[0] != want[0].word {
					t.Fatalf("by words %t, nulls %t (seed %d): %#x, not %#x", byWords, nulls, testSeed, got[0], want[0].word)
				}
			}
		}
	}
}

// Groupings whose records go by way of lines, which they do from the first row on, have
// a map's groups, of values that are null too. The tiers agree with one another elsewhere.
func TestTalliesByLines(t *testing.T) {
	defer func() { groupLoops = goLoops }()
	values := []*memory.Column{floatsWithNulls(t, manyRows), wholeInts(t, manyRows)}
	spare := shapedColumn(t, rand.New(rand.NewPCG(testSeed, 73)), manyRows, func(r *rand.Rand, _ int64) int64 {
		return int64(mix(uint64(r.Int64N(30_000)))) >> 1 // bit 63 is to spare for a null
	})
	names, all := available()
	for i, l := range all {
		by := *l
		by.lines.from, by.lines.cutFrom = 1, 1
		groupLoops = func() *loops { return &by }
		for _, shape := range []string{"distinct", "far sorted", "sparse in range", ""} {
			t.Run(names[i]+" "+shape, func(t *testing.T) {
				keys := spare
				if shape != "" {
					keys = shapedColumn(t, rand.New(rand.NewPCG(testSeed, 74)), manyRows, shapes[shape])
				}
				for _, v := range values {
					checkTallies(t, []*memory.Column{keys}, v, false, true)
				}
			})
		}
	}
}
