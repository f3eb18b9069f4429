package collective

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// A root that gathers or scatters in place, its own block being part of the long vector, has the same results as out of place, and a
// scattered vector stays as it is: by every algorithm, transport and root, of equal blocks and others.
func TestGatherAndScatterInPlace(t *testing.T) {
	for _, op := range []algorithm.Op{algorithm.Gather, algorithm.Scatter} {
		for _, with := range algorithm.For(op) {
			for name, open := range transports {
				for _, ranks := range []int{1, 2, 3, 5} {
					comms := over(t, open(t, ranks), Options{Algorithms: map[algorithm.Op]string{op: with.Name}})
					for _, block := range []int64{3, 40_000} {
						for root := range ranks {
							must(t, comms, func(c *Comm) error {
								where := fmt.Sprintf("%s of %d elements by %s over %s, rank %d of %d, root %d", op, block, with.Name, name, c.Rank(), ranks, root)
								return inPlace(t, c, op, where, block, root)
							})
						}
					}
				}
			}
		}
	}
}

func inPlace(t *testing.T, c *Comm, op algorithm.Op, where string, block int64, root int) error {
	ctx := context.Background()
	equal, others := make([]int64, c.Size()), make([]int64, c.Size())
	for r := range c.Size() {
		equal[r], others[r] = block, block+int64(r)
	}
	for i, counts := range [][]int64{equal, others} {
		var at [2]int64 // of the own block
		all := int64(0)
		for r, n := range counts {
			if r == c.Rank() {
				at = [2]int64{all, all + n}
			}
			all += n
		}
		want := make([]int32, all)
		for k := range want {
			want[k] = int32(7*k + root + 1)
		}
		long := slices.Clone(want)
		if op == algorithm.Gather || c.Rank() != root {
			clear(long[:at[0]])
			clear(long[at[1]:])
		}
		if op == algorithm.Scatter && c.Rank() != root {
			clear(long)
		}
		whole, own := Of(long), Of(long[at[0]:at[1]])
		if c.Rank() != root {
			whole = Vector{}
		}
		var err error
		switch {
		case op == algorithm.Gather && i == 0:
			err = c.Gather(ctx, own, whole, root)
		case op == algorithm.Gather:
			err = c.GatherV(ctx, own, whole, counts, root)
		case i == 0:
			err = c.Scatter(ctx, whole, own, root)
		default:
			err = c.ScatterV(ctx, whole, own, counts, root)
		}
		if err != nil {
			return err
		}
		if c.Rank() == root && !slices.Equal(long, want) || !slices.Equal(long[at[0]:at[1]], want[at[0]:at[1]]) {
			t.Errorf("%s: another result", where)
		}
	}
	return nil
}
