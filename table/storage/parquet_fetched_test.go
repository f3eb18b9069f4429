package storage

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/volley-go/volley/memory"
)

// TestGroupsShareMemory holds that row groups that are opened one after the other, the
// last of them smaller, take no fresh memory after the first, have their values whether
// they are read at once or page by page, and that all memory comes back.
func TestGroupsShareMemory(t *testing.T) {
	const rows, each = 50_000, 16_000
	p, values := wordsFile(t, rows, []int{9000, 700, 3, 40_000}, false, parquet.WithMaxRowGroupLength(each), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageSize(4000))
	for _, c := range []struct {
		name   string
		fields []int
		whole  bool
	}{{"at once", []int{0, 1, 2, 3}, true}, {"page by page", []int{0, 2}, false}} {
		kept := memory.NewCaching(memory.Heap, 1<<24)
		shared := newGroupMemory()
		misses := int64(0)
		for g := range p.meta.NumRowGroups() {
			r := groupReader{file: p, g: g, from: kept, memory: shared, want: p.schema, fields: c.fields, most: 1 << 20}
			room := shared.stretch()
			if c.whole {
				if r.there = r.fetch(context.Background(), &room); r.there == nil {
					t.Errorf("%s: row group %d was not read at once", c.name, g)
				}
			}
			as := make([]arrow.DataType, len(c.fields))
			for k := range as {
				as[k] = arrow.PrimitiveTypes.Int32
			}
			group, err := r.words(context.Background(), as)
			if err != nil {
				t.Fatal(err)
			}
			shared.keep(room)
			to, n := make([][]uint32, len(c.fields)), group.Rows()
			into := make([]Words, len(c.fields))
			for k := range to {
				to[k] = make([]uint32, n)
				into[k] = Words{to[k], 1}
			}
			if err := group.Read(0, n, into); err != nil {
				t.Fatal(err)
			}
			for k, f := range c.fields {
				for i, x := range to[k] {
					if want := values[f][g*each+i]; int32(x) != want {
						t.Fatalf("%s: row %d of row group %d, column %d: %d, want %d", c.name, i, g, f, int32(x), want)
					}
				}
			}
			group.Close()
			if g == 1 { // the first took what the largest pages need
				misses = kept.Stats().Misses
			}
		}
		if now := kept.Stats().Misses; now != misses {
			t.Errorf("%s: %d requests took fresh memory after the second row group", c.name, now-misses)
		}
		shared.drop()
		if s := kept.Stats(); s.InUse != 0 {
			t.Errorf("%s: %d bytes are not given back", c.name, s.InUse)
		}
	}
}
