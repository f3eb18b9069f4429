package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// matchTexts are texts of few letters, of which many have others within.
func matchTexts(r *rand.Rand, n int) []string {
	v := make([]string, n)
	for i := range v {
		b := make([]byte, r.IntN(6)*r.IntN(12))
		for j := range b {
			b[j] = "aab"[r.IntN(3)]
		}
		v[i] = string(b)
	}
	v[n/2] = strings.Repeat("ab", 9000)
	return v
}

// textColumn is a column of texts with narrow or wide offsets.
func textColumn(t testing.TB, wide bool, v []string) *memory.Column {
	width := int64(4)
	typ := arrow.DataType(arrow.BinaryTypes.String)
	if wide {
		width, typ = 8, arrow.BinaryTypes.LargeString
	}
	ends, err := memory.NewZeroed(memory.Heap, width*int64(len(v)+1))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for i, x := range v {
		if at += len(x); wide {
			memory.View[int64](ends)[i+1] = int64(at)
		} else {
			memory.View[int32](ends)[i+1] = int32(at)
		}
	}
	c, err := memory.NewColumn(memory.Parts{Type: typ, Len: int64(len(v)), Buffers: []*memory.Buffer{nil, ends, memory.Wrap([]byte(strings.Join(v, "")), nil)}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Patterns are found in every tier, and by any number of threads, where package
// strings finds them: of any length, at the ends of texts, and not across two. Under the
// race detector, which sees no assembly, the loops in Go look for them on 7 threads.
func TestMatch(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 10))
	v := matchTexts(r, morsel+777)
	sets, counts := Tiers(), sameThreads
	if raceDetector {
		sets, counts = sets[:1], counts[2:]
	}
	holds := []func(s, part string) bool{strings.Contains, strings.HasPrefix, strings.HasSuffix}
	for _, wide := range []bool{false, true} {
		whole := textColumn(t, wide, v)
		c, err := whole.Slice(3, int64(len(v)-5))
		whole.Release()
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{"", "a", "b", "ab", "abb", "bab", "aabaab", "bbbbbbb", "abaabbab", "baabaabbab", strings.Repeat("ab", 40), v[700], "c"} {
			for op, holds := range holds {
				for _, set := range sets {
					x := *b
					x.Set = set
					for _, threads := range counts {
						old := runtime.GOMAXPROCS(threads)
						got, err := x.Match(context.Background(), s, kernels.MatchOp(op), c, pattern)
						runtime.GOMAXPROCS(old)
						if err != nil {
							t.Fatal(err)
						}
						for i := range c.Len() {
							if want := holds(v[i+3], pattern); got.Bits().Get(i) != want {
								t.Fatalf("%s, %d threads: %q %s %q is %t (seed %d)", set.Name, threads, v[i+3], kernels.MatchOp(op), pattern, !want, testSeed)
							}
						}
						got.Release()
					}
				}
			}
		}
		c.Release()
	}
}

func BenchmarkMatch(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]string, 1<<20)
	for i := range v {
		v[i] = fmt.Sprintf("%x-%x", r.Uint64(), r.Uint64())[:8+r.IntN(20)]
	}
	c := textColumn(b, false, v)
	defer c.Release()
	x, s, _ := counted(b)
	for op, pattern := range []string{"3f7a", "3f", "7a"} {
		for _, set := range Tiers() {
			y := *x
			y.Set = set
			b.Run(fmt.Sprintf("op=%s/tier=%s", kernels.MatchOp(op), set.Name), func(b *testing.B) {
				b.SetBytes(c.Buffer(2).Len())
				for b.Loop() {
					m, err := y.Match(context.Background(), s, kernels.MatchOp(op), c, pattern)
					if err != nil {
						b.Fatal(err)
					}
					m.Release()
				}
			})
		}
	}
}
