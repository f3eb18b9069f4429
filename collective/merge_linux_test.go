package collective

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// The same all-reduces, of sums that depend on the order: merged, which is what long vectors in one process and over
// shared memory are, and by an algorithm that keeps the same order.
func TestMergedAllReduce(t *testing.T) {
	const n = 200_003
	ctx := context.Background()
	for i := range 6 {
		ranks, name := 2+i/2, []string{"inproc", "shm"}[i%2]
		t.Run(fmt.Sprint(name, ranks), func(t *testing.T) {
			results := map[bool][][]float32{}
			for _, named := range []bool{false, true} {
				o := Options{Deterministic: true}
				if named {
					o.Algorithms = map[algorithm.Op]string{algorithm.AllReduce: "butterfly"}
				}
				comms := over(t, transports[name](t, ranks), o)
				all := make([][]float32, ranks)
				must(t, comms, func(c *Comm) error {
					r := rand.New(rand.NewPCG(1, uint64(c.Rank())))
					in := make([]float32, n)
					for i := range in {
						in[i] = r.Float32() - 0.5
					}
					out := make([]float32, n)
					for _, op := range []Op{Sum, Sum, Avg, Max} {
						if err := c.AllReduce(ctx, Of(in), Of(out), op); err != nil {
							return err
						}
						all[c.Rank()] = append(all[c.Rank()], out...)
					}
					user := NewOp("less", true, func(a, b float32) float32 { return min(a, b) })
					if err := c.AllReduce(ctx, Of(in), Of(in), user); err != nil {
						return err
					}
					all[c.Rank()] = append(all[c.Rank()], in...)
					merges := strings.Contains(c.Explain(algorithm.AllReduce, Float32, n), MergeName)
					if named == merges && (named || c.merger.Merges(transport.ToAll, 4*n)) {
						return fmt.Errorf("merges: %v, by name: %v", merges, named)
					}
					return nil
				})
				results[named] = all
			}
			bits := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
			for r := range ranks {
				if !slices.EqualFunc(results[false][r], results[true][0], bits) {
					t.Errorf("rank %d has another result than the butterfly", r)
				}
			}
		})
	}
}
