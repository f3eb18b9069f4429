package cpu

import (
	"context"
	"runtime"
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

// A key that comes twice in one part, wherever that is, makes the table one of repeated keys, whoever
// builds the part and when: a part that was built as one of distinct keys is built again.
func TestJoinOneKeyTwice(t *testing.T) {
	const rows = 1 << 17 // eight parts
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	s, err := onlyGroups(t).NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for try := range int64(12) {
		twice := try * 9973
		column := makeColumn(t, arrow.PrimitiveTypes.Int64, rows, func(i int) kernels.Scalar {
			if i == rows-1 {
				i = int(twice)
			}
			return kernels.Int64(int64(i) * 0x9e3779b97f4a7)
		})
		a := newArena(s)
		cols := []*memory.Column{column}
		index, err := newJoinIndex(t.Context(), a, cols, false)
		if err != nil {
			t.Fatal(err)
		}
		if index.unique || index.cut == 0 {
			t.Fatalf("try %d: unique is %t, %d bits of regions", try, index.unique, index.cut)
		}
		finder, err := index.bind(t.Context(), a, cols)
		if err != nil {
			t.Fatal(err)
		}
		batch := new(batch)
		var found [4]uint32
		err = batches(batch, 0, rows, func() error {
			finder.find(batch)
			for j, id := range batch.ids[:batch.n] {
				row, want := int64(batch.row(j)), 1
				if row == twice || row == rows-1 {
					row, want = twice, 2
				}
				if id == 0 || index.put(found[:], id-1) != want || int64(found[0]) != row || want == 2 && found[1] != rows-1 {
					t.Fatalf("try %d, row %d: found %v", try, batch.row(j), found)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		a.free()
	}
}
