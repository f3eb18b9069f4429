package cpu

import (
	"fmt"
	"maps"
	"math/bits"
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

// Groups come in the order of their hashes out of tables of any size, so that those of ranges
// come as those of parts do. Many hashes want the same slots, some of them the last, from
// where searches go on at the first.
func TestByHash(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for _, skip := range []uint{0, 1, 6} {
		var want []uint64
		for i := range 3000 {
			w := r.Uint64() >> skip
			switch i % 3 {
			case 1:
				w = ^uint64(0)>>skip - w>>44
			case 2:
				w = w>>40 | 1<<60>>skip
			}
			want = append(want, w)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		for _, size := range []int{4096, 8192, 1 << 15} {
			h := &tallyTable[int64]{shift: 64 - uint(bits.TrailingZeros(uint(size)))}
			h.slots.s = make([]tallySlot[int64], size)
			for _, k := range r.Perm(len(want)) {
				i := want[k] << skip >> h.shift
				for h.slots.s[i].counts != 0 {
					i = (i + 1) & uint64(size-1)
				}
				h.slots.s[i].word, h.slots.s[i].counts = want[k], 1
			}
			var got []uint64
			for _, s := range h.byHash(make([]tallySlot[int64], len(want)+1), skip) {
				got = append(got, s.word)
			}
			if !slices.Equal(got, want) {
				t.Errorf("skip %d, %d slots: %d of %d groups, not in the order of their hashes", skip, size, len(got), len(want))
			}
		}
	}
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
