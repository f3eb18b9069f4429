package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// histogramKind is a kind of words to count.
type histogramKind[K row] struct {
	name  string
	each  int // words of which one is counted
	loop  func(l *loops) func(c counters, words []K, d digit)
	value func(w, base K) uint64 // what a digit is of
}

var (
	kindU32 = histogramKind[uint32]{"u32", 1, func(l *loops) func(counters, []uint32, digit) { return l.histogram.u32 },
		func(w, _ uint32) uint64 { return uint64(w) }}
	kinds64 = []histogramKind[uint64]{
		{"u64", 1, func(l *loops) func(counters, []uint64, digit) { return l.histogram.u64 }, func(w, base uint64) uint64 { return w - base }},
		{"hashes", 1, func(l *loops) func(counters, []uint64, digit) { return l.histogram.hashes },
			func(w, base uint64) uint64 { return hashWord(w-base, 0) }},
		{"pairs", 2, func(l *loops) func(counters, []uint64, digit) { return l.histogram.pairs }, func(w, base uint64) uint64 { return w - base }},
	}
)

// Words are counted by the digits that they have, in one table and in several, and
// nothing else is written; memory may be asked for that there is not.
func TestHistogramLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for n := range maxLoop + 1 {
			tryHistogram(t, goes, tier, r, mem, kindU32, n)
			for _, kind := range kinds64 {
				tryHistogram(t, goes, tier, r, mem, kind, n)
			}
		}
	})
}

func tryHistogram[K row](t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded, kind histogramKind[K], n int) {
	t.Helper()
	size := int(unsafe.Sizeof(K(0)))
	for _, apart := range []bool{false, true} {
		width := r.IntN(9)
		d := digit{shift: r.UintN(uint(8*size-width) + 1), mask: 1<<width - 1, ahead: r.IntN(2) * countAhead}
		if size == 8 {
			d.base = r.Uint64()
		}
		counters, room := 1<<width, 1<<width
		if apart {
			room = countTables * (counters + tableGap)
		}
		words := make([]K, n*kind.each)
		for i := range words {
			if words[i] = K(r.Uint64()); r.IntN(4) > 0 { // equal digits follow each other
				words[i] = K(d.base) + K(r.Uint64())>>(8*size-2)
			}
		}
		want, before := make([]uint64, counters), make([]uint32, room)
		for i := range before {
			before[i] = r.Uint32()
		}
		for i := range counters {
			for k := i; k < room; k += counters + tableGap {
				want[i] += uint64(before[k])
			}
		}
		for i := 0; i < len(words); i += kind.each {
			want[kind.value(words[i], K(d.base))>>d.shift&d.mask]++
		}
		mem.again()
		for _, l := range []*loops{goes, tier} {
			from := like(mem, words)
			c := countersOf(like(mem, before), counters)
			kind.loop(l)(c, from, d)
			same(t, kind.name+": the words", n, from, words)
			got := make([]uint64, counters)
			for i := range got {
				for k := i; k < room; k += counters + tableGap {
					got[i] += uint64(c.all[k])
				}
			}
			for i := range got {
				if uint32(got[i]) != uint32(want[i]) { // one of the random ones may have begun again from 0
					t.Fatalf("%s, %d words, tables apart %t, %+v: %d are %d, not %d", kind.name, n, apart, d, i, uint32(got[i]), uint32(want[i]))
				}
			}
			for i := range c.all {
				if i%(counters+tableGap) >= counters && c.all[i] != before[i] {
					t.Fatalf("%s, %d words: what lies between two tables was written", kind.name, n)
				}
			}
		}
		for _, page := range []int{1, 3} {
			mem.intact("counters", 4*room, page)
		}
		for _, page := range []int{0, 2} {
			mem.intact("words", size*len(words), page)
		}
	}
}

// Prefixes are counted as one word after another is, on each tier, whether there are
// tables of them or one, and where there are counts before.
func TestCountPrefixes(t *testing.T) {
	r := rand.New(rand.NewPCG(testSeed, 47))
	names, all := available()
	for _, n := range []int{0, 1, 100, 4 * fewCounters, countEach * fewCounters, 4*morsel + 100} {
		for _, width := range []uint{0, 1, 8, 11, 12, 16} {
			wide, narrow := make([]uint64, n), make([]uint32, n)
			for i := range wide {
				narrow[i] = r.Uint32() >> r.UintN(9)
				wide[i] = uint64(narrow[i])<<32 | uint64(r.Uint32())
			}
			want := make([]uint32, 1<<width)
			for _, w := range wide {
				want[w>>(63-width)>>1]++
			}
			for k, l := range all {
				checkPrefixes(t, names[k], l, wide, 64-width, want)
				checkPrefixes(t, names[k], l, narrow, 32-width, want)
			}
		}
	}
}

func checkPrefixes[K row](t *testing.T, tier string, l *loops, words []K, shift uint, want []uint32) {
	t.Helper()
	short, long := make([]uint32, len(want)), make([]uint64, len(want))
	if err := countPrefixes(context.Background(), l, short, words, shift); err != nil {
		t.Fatal(err)
	}
	if err := countPrefixes(context.Background(), l, long, words, shift); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(short, want) {
		t.Fatalf("%s: %d words by %d prefixes (seed %d): other counts", tier, len(words), len(want), testSeed)
	}
	for i, k := range long {
		if k != uint64(want[i]) {
			t.Fatalf("%s: %d words by %d prefixes (seed %d): %d counts of 64 bits, not %d", tier, len(words), len(want), testSeed, k, want[i])
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if len(words) > 0 && countPrefixes(ctx, l, short, words, shift) == nil {
		t.Fatalf("%s: counts to the end after its context's", tier)
	}
}

// The tables of chunks are added where each has tables, and left where it has one.
func TestSumTables(t *testing.T) {
	for _, n := range []int{1, 3, 64, fewCounters, fewCounters + 1} {
		for _, words := range []int{0, countEach * n} {
			const chunks = 5
			room := countersRoom(n, words)
			rooms, want := make([]uint32, chunks*room), make([]uint32, chunks*n)
			for c := range chunks {
				counts := countersOf(rooms[c*room:][:room], n)
				for table := 0; table == 0 || table < countTables && counts.apart > 0; table++ {
					for i := range n {
						counts.all[table*counts.apart+i] = uint32(1000*c + 10*i + table)
						want[c*n+i] += uint32(1000*c + 10*i + table)
					}
				}
			}
			if got := sumTables(rooms, chunks, n); !slices.Equal(got, want) {
				t.Fatalf("%d counters, %d words: other sums", n, words)
			}
		}
	}
}

// benchmarkWords are words that come from memory, or from a cache, by their order.
func benchmarkWords[K row](n int, order string) []K {
	r, words := rand.New(rand.NewPCG(1, 2)), make([]K, n)
	size := 8 * int(unsafe.Sizeof(K(0)))
	for i := range words {
		switch words[i] = K(r.Uint64()); {
		case order == "rising":
			words[i] = K(uint64(i) << (size - 1) / uint64(n) << 1)
		case order == "skewed" && r.IntN(8) > 0:
			words[i] = 1
		}
	}
	return words
}

func benchmarkPrefixes[K row](b *testing.B, name string, orders ...string) {
	size := uint(8 * unsafe.Sizeof(K(0)))
	for _, order := range orders {
		words := benchmarkWords[K](64<<20/int(size/8), order)
		for _, width := range []uint{8, 11, 14, 16} {
			counts := make([]uint32, 1<<width)
			b.Run(fmt.Sprintf("counters=%d/type=%s/order=%s", 1<<width, name, order), func(b *testing.B) {
				benchmarkTiers(b, len(words)*int(size/8), func(l *loops) {
					if err := countPrefixes(b.Context(), l, counts, words, size-width); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

// BenchmarkCountPrefixes counts 64 MiB of words by their first bits.
func BenchmarkCountPrefixes(b *testing.B) {
	benchmarkPrefixes[uint64](b, "uint64", "random", "rising", "skewed")
	benchmarkPrefixes[uint32](b, "uint32", "random")
}

// BenchmarkHistogram counts words that come from memory, of n words those that a part
// has, and has the sum of the words for comparison.
func BenchmarkHistogram(b *testing.B) {
	for _, n := range []int{1 << 13, 1 << 23} {
		words := benchmarkWords[uint64](n, "random")
		b.Run(fmt.Sprintf("kind=sum/words=%d", n), func(b *testing.B) {
			values := unsafe.Slice((*int64)(unsafe.Pointer(&words[0])), n)
			benchmarkTiers(b, 8*n, func(l *loops) { l.reduce.i64.sum(values) })
		})
		for _, kind := range kinds64 {
			for _, width := range []uint{6, 10, 15} {
				c := countersOf(make([]uint32, countersRoom(1<<width, n)), 1<<width)
				if n == 1<<13 {
					c = counters{all: c.all, n: c.n}
				}
				d := digit{shift: 64 - width, mask: 1<<width - 1}
				if n > 1<<13 {
					d.ahead = countAhead
				}
				b.Run(fmt.Sprintf("kind=%s/words=%d/counters=%d", kind.name, n, 1<<width), func(b *testing.B) {
					benchmarkTiers(b, 8*n, func(l *loops) { kind.loop(l)(c, words, d) })
				})
			}
		}
	}
}
