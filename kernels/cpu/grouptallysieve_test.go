package cpu

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// Ranges of hashes, which one worker or two take, come to what parts do, which seven take.
func TestTallySieves(t *testing.T) {
	shapes := map[string]func(r *rand.Rand, i int) int64{
		"even":  func(r *rand.Rand, _ int) int64 { return int64(mix(uint64(r.IntN(30_000)))) },
		"hot":   func(r *rand.Rand, i int) int64 { return int64(mix(uint64(r.IntN(30_000)))) * int64(min(1, i%4)) },
		"steps": func(r *rand.Rand, _ int) int64 { return int64(r.IntN(30_000)) << 44 },
		"runs":  func(_ *rand.Rand, i int) int64 { return int64(mix(mix(uint64(i/16)) % 12_000)) },
	}
	eachGroupLoops(t, func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			for _, rows := range []int{260_003, 300_000} {
				if raceDetector && rows == 300_000 {
					continue
				}
				t.Run(fmt.Sprint(name, rows), func(t *testing.T) {
					r := rand.New(rand.NewPCG(17, 18))
					keys, values := make([]int64, rows), make([]float64, rows)
					for i := range keys {
						keys[i], values[i] = shapes[name](r, i), float64(i%1013)/7
					}
					k := []*memory.Column{fixedColumn(t, arrow.PrimitiveTypes.Int64, keys)}
					checkTallies(t, k, fixedColumn(t, arrow.PrimitiveTypes.Float64, values), false, true)
					checkFirsts(t, k, wholeInts(t, rows), false, true)
				})
			}
		}
	})
}

// A sample deceives: tables of ranges become too large, and rows are cut after all.
func TestTallySievesDeceived(t *testing.T) {
	old := mostSieved
	defer func() { mostSieved = old }()
	mostSieved = 1 << 15
	const rows = 500_000
	r := rand.New(rand.NewPCG(19, 20))
	keys := make([]int64, rows)
	for i := range keys {
		keys[i] = int64(mix(uint64(r.IntN(12_000))))
		if r.IntN(5) == 0 {
			keys[i] = int64(r.Uint64())
		}
	}
	k, v := fixedColumn(t, arrow.PrimitiveTypes.Int64, keys), wholeInts(t, rows)
	eachGroupLoops(t, func(t *testing.T) { checkFirsts(t, []*memory.Column{k}, v, false, true) })
}

// What decides on ranges: workers, the cache, loops and the guess.
func TestSieves(t *testing.T) {
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	quick, slow, nulls := goLoops(), goLoops(), memory.Bitmap{0}
	quick.sieve.quick = true
	for _, c := range []struct {
		workers int
		l       *loops
		large   bool
		valid   memory.Bitmap
		guess   int64
		skip    uint
		ok      bool
	}{
		{1, quick, true, nil, 100_000, 0, true}, {2, quick, true, nil, 100_000, 1, true}, {3, quick, true, nil, 100_000, 1, true},
		{4, quick, true, nil, 100_000, 0, false}, {2, slow, true, nil, 100_000, 0, false}, {2, quick, false, nil, 100_000, 0, false},
		{2, quick, true, nulls, 100_000, 0, false}, {2, quick, true, nil, 1_000_000, 0, false},
	} {
		runtime.GOMAXPROCS(c.workers)
		withCache(t, c.large, func() {
			x := &tallying[int64]{l: c.l, valid: c.valid}
			if skip, ok := x.sieves(c.guess); skip != c.skip || ok != c.ok {
				t.Errorf("%+v: %d, %v", c, skip, ok)
			}
		})
	}
}
