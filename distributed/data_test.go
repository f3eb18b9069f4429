package distributed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// shapes are ways in which rows are spread over ranks and keys over rows.
var shapes = []string{"even", "empty ranks", "all on one rank", "one key", "zipf", "null keys", "no rows"}

// source is rows of a table before they are spread: the same on every rank.
type source struct {
	k     []int64
	valid []bool // of k
	v     []int64
	s     []string
	cuts  []int // of the ranks
	shape string
}

// newSource makes n rows, of some shape, for so many ranks. v numbers the rows.
func newSource(shape string, seed uint64, n, ranks int) *source {
	r := rand.New(rand.NewPCG(seed, 1))
	zipf := rand.NewZipf(r, 1.3, 1, 1000)
	if shape == "no rows" {
		n = 0
	}
	d := &source{shape: shape}
	for i := range n {
		k, valid := int64(r.IntN(max(1, n/3))), true
		switch shape {
		case "one key":
			k = 7
		case "zipf":
			k = int64(zipf.Uint64())
		case "null keys":
			valid = r.IntN(3) > 0
		}
		d.k, d.valid, d.v = append(d.k, k), append(d.valid, valid), append(d.v, int64(i))
		d.s = append(d.s, fmt.Sprint("text ", r.IntN(20)))
	}
	for i := range ranks + 1 {
		cut := n * i / ranks
		switch shape {
		case "empty ranks":
			cut = n * (i / 2) / max(1, ranks/2)
		case "all on one rank":
			cut = map[bool]int{true: n, false: 0}[i > ranks/2]
		}
		d.cuts = append(d.cuts, min(cut, n))
	}
	d.cuts[ranks] = n
	return d
}

// table is the rows [from, to), in chunks of some rows. Texts are a dictionary of its own in every chunk where dict is set.
func (d *source) table(b *kernels.Backend, from, to int, prefix string) *table.Table {
	var chunks []*table.Batch
	var schema *arrow.Schema
	for at := from; at == from || at < to; at += 13 {
		end := min(at+13, to)
		builder := array.NewDictionaryBuilder(arrowmem.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
		for _, s := range d.s[at:end] {
			if err := builder.AppendValueFromString(s); err != nil {
				panic(err)
			}
		}
		texts := builder.NewArray()
		column, err := memory.FromArrow(texts)
		if err != nil {
			panic(err)
		}
		one, err := table.New(b, table.Column(prefix+"k", slices.Clone(d.k[at:end])).Valid(d.valid[at:end]), table.Column(prefix+"v", slices.Clone(d.v[at:end])),
			table.Column(prefix+"s", slices.Clone(d.s[at:end])), table.Column(prefix+"d", column))
		if err != nil {
			panic(err)
		}
		column.Release()
		schema = one.Schema()
		for _, c := range one.Chunks() {
			chunks = append(chunks, c.Retain())
		}
		one.Release()
	}
	t, err := table.NewTable(b, schema, chunks)
	if err != nil {
		panic(err)
	}
	return t
}

// whole is all rows; part those of a rank.
func (d *source) whole(b *kernels.Backend, prefix string) *table.Table {
	return d.table(b, 0, len(d.k), prefix)
}
func (d *source) part(b *kernels.Backend, rank int, prefix string) *table.Table {
	return d.table(b, d.cuts[rank], d.cuts[rank+1], prefix)
}

// spread makes a distributed table of a source.
func (r *rank) spread(d *source, prefix string) (*Table, error) {
	part := d.part(r.backend, r.id(), prefix)
	defer part.Release()
	return New(r, r.comm, part)
}

// all is the rows of all ranks as texts, by rank, on every rank.
func (r *rank) all(d *Table) ([]string, error) {
	o := d.start(r, "test", "")
	t := o.everywhere(d.Schema(), d.part.Retain())
	defer t.Release()
	if err := o.meet(); err != nil {
		return nil, err
	}
	return rows(t), nil
}

// balanced says how much more than its share the fullest rank has.
func balanced(counts []int64) float64 {
	return float64(slices.Max(counts)) * float64(len(counts)) / math.Max(1, float64(sum(counts)))
}
