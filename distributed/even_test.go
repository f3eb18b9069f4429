package distributed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/dataloader"
)

// TestEvenFeedsLoaders: loaders of all ranks take as many steps, and each row comes once, but for the
// last ones that do not go round.
func TestEvenFeedsLoaders(t *testing.T) {
	for _, n := range sizes {
		for _, shape := range []string{"even", "all on one rank", "no rows"} {
			seen := make([][]float32, n)
			each(t, n, func(r *rank) error {
				d, err := r.spread(newSource(shape, 1, 101, n), "")
				if err != nil {
					return err
				}
				defer d.Release()
				even, err := d.Even(r)
				if err != nil {
					return err
				}
				defer even.Release()
				for _, c := range even.Counts() {
					require.Equal(r.t, d.NumRows()/int64(n), c)
				}
				if even.NumRows() == 0 {
					return nil
				}
				loader, err := dataloader.New(r, dataloader.FromTable(even.Local()), dataloader.Options{Features: []string{"v"}, Batch: 5, Epochs: 1, Shuffle: true})
				if err != nil {
					return err
				}
				for batch, err := range loader.Batches(r) {
					if err != nil {
						return err
					}
					x, err := batch.Features()
					if err != nil {
						return err
					}
					values, err := dataloader.Elements[float32](x)
					if err != nil {
						return err
					}
					seen[r.id()] = append(seen[r.id()], values...)
				}
				return loader.Close()
			})
			if shape != "no rows" {
				rows := map[float32]bool{}
				for _, values := range seen {
					require.Len(t, values, 101/n)
					for _, v := range values {
						require.False(t, rows[v] || v >= float32(101/n*n))
						rows[v] = true
					}
				}
			}
		}
	}
}
