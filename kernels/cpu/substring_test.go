package cpu

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
)

// Parts of texts, by letters of one to four bytes, are those that package strings gives,
// in every tier and by any number of threads.
func TestSubstring(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 11))
	v := matchTexts(r, morsel+777)
	for i := range v {
		if i%5 == 3 {
			v[i] = strings.NewReplacer("a", []string{"ä", "€", "𝄞"}[i%3]).Replace(v[i])
		}
	}
	for _, wide := range []bool{false, true} {
		whole := textColumn(t, wide, v)
		c, err := whole.Slice(3, int64(len(v)-5))
		whole.Release()
		require.NoError(t, err)
		for _, cut := range [][2]int64{{1, 2}, {3, 4}, {2, 0}, {60, 9}, {1, 1 << 40}} {
			for _, set := range Tiers() {
				for _, threads := range sameThreads {
					x := *b
					x.Set = set
					old := runtime.GOMAXPROCS(threads)
					got, err := x.Substring(context.Background(), s, c, cut[0], cut[1])
					runtime.GOMAXPROCS(old)
					require.NoError(t, err)
					for i := range c.Len() {
						letters := []rune(v[i+3])
						from := min(cut[0]-1, int64(len(letters)))
						to := from + min(cut[1], int64(len(letters))-from)
						if part := kernels.ScalarAt(got, i).Text(); part != string(letters[from:to]) {
							t.Fatalf("%s, %d threads: %d letters from %d of %q are %q (seed %d)", set.Name, threads, cut[1], cut[0], v[i+3], part, testSeed)
						}
					}
					got.Release()
				}
			}
		}
		c.Release()
	}
}
