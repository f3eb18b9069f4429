package cpu

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// TestJoinOneRegion joins by keys whose hashes all belong to one region of the
// table, which runs over: once for all rows, and once where keys come twice.
func TestJoinOneRegion(t *testing.T) {
	const keys = 40_000
	words := []int64{0}
	for w := int64(1) << 40; len(words) < keys; w += 12347 {
		if mix(uint64(w))>>62 == 0 {
			words = append(words, w)
		}
	}
	sizes := map[string]int{"once": keys, "twice": 2 * keys}
	if raceDetector { // one goroutine looks for keys that are all in one place
		delete(sizes, "once")
	}
	for name, rows := range sizes {
		t.Run(name, func(t *testing.T) {
			column := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar { return kernels.Int64(words[i%keys]) })
			ctx := context.Background()
			s, err := onlyGroups(t).NewStream()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			a := newArena(s)
			defer a.free()
			cols := []*memory.Column{column}
			index, err := newJoinIndex(ctx, a, cols, false)
			if err != nil {
				t.Fatal(err)
			}
			if index.cut != 0 || index.unique != (rows == keys) {
				t.Errorf("%d bits of regions, unique is %t", index.cut, index.unique)
			}
			finder, err := index.bind(ctx, a, cols)
			if err != nil {
				t.Fatal(err)
			}
			batch := new(batch)
			err = batches(batch, 0, int64(rows), func() error {
				finder.find(batch)
				for j, id := range batch.ids[:batch.n] {
					row := batch.row(j)
					if id == 0 {
						t.Fatalf("row %d: not found", row)
					}
					found := make([]uint32, rows)
					found = found[:index.put(found, id-1)]
					if len(found) != rows/keys || found[0] != row%keys || found[len(found)-1] != row%keys+uint32(rows-keys) {
						t.Fatalf("row %d: found rows %v", row, found)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
