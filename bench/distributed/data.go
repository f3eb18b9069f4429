package distributed

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// fewValues is how many values the column has by which few groups are made.
const fewValues = 100

// pieces is how many files a side is written to, so that engines that read a file as a partition have several.
const pieces = 8

// sides are the names of the two tables: left has columns k and a, right k and b.
var sides = []string{"left", "right"}

// mixed are the bits of x spread over all 64 (the finaliser of SplitMix64): row i of a table is a function of i, so that each rank makes its own rows.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// side is rows [from, to) of a table of so many rows: keys are random below rows, so that a key of one side has one match on the other on average.
func side(b *kernels.Backend, which int, rows, from, to int64) (*table.Table, error) {
	k, v := make([]int64, to-from), make([]int64, to-from)
	name, values := "a", uint64(fewValues)
	if which == 1 {
		name, values = "b", uint64(rows)
	}
	for i := range k {
		row := uint64(which)<<56 | uint64(from+int64(i))<<1
		k[i], v[i] = int64(mixed(row)%uint64(rows)), int64(mixed(row|1)%values)
	}
	return table.New(b, table.Column("k", k), table.Column(name, v))
}

// share is where the rows of the r-th of n parts begin.
func share(rows int64, r, n int) int64 { return rows * int64(r) / int64(n) }

// write writes both sides as Parquet files, whose names begin with the side's.
func write(ctx context.Context, b *kernels.Backend, rows int64, dir string) error {
	for which, name := range sides {
		for piece := range pieces {
			t, err := side(b, which, rows, share(rows, piece, pieces), share(rows, piece+1, pieces))
			if err != nil {
				return err
			}
			err = storage.WriteParquet(ctx, t, filepath.Join(dir, fmt.Sprintf("%s-%d.parquet", name, piece)), storage.ParquetOptions{})
			t.Release()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
