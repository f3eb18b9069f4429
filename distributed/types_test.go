package distributed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

var dictionaryOfTexts = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}

// every type that columns have, or are held as.
var every = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64ns,
	arrow.FixedWidthTypes.Timestamp_ms, arrow.FixedWidthTypes.Duration_us, &arrow.Decimal128Type{Precision: 20, Scale: 2},
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.StringView,
	dictionaryOfTexts, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.PrimitiveTypes.Int64},
	arrow.Null, arrow.ListOf(arrow.BinaryTypes.String), arrow.LargeListOf(arrow.PrimitiveTypes.Float64), arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int16)),
	arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, arrow.Field{Name: "b", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}),
}

// column makes n values of a type, a fifth of them null.
func column(t *testing.T, typ arrow.DataType, seed uint64, n int) *memory.Column {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	for range n {
		appendValue(r, b)
	}
	a := b.NewArray()
	defer a.Release()
	var c *memory.Column
	var err error
	if typ.ID() == arrow.STRING_VIEW {
		c, err = memory.CopyViews(memory.Heap, a.Data())
	} else {
		c, err = memory.FromArrow(a)
	}
	require.NoError(t, err)
	return c
}

func appendValue(r *rand.Rand, b array.Builder) {
	if r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	text := strings.Repeat(fmt.Sprint(r.IntN(50)), r.IntN(4))
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			appendValue(r, b.ValueBuilder())
		}
	case *array.LargeListBuilder:
		b.Append(true)
		for range r.IntN(4) {
			appendValue(r, b.ValueBuilder())
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendValue(r, b.FieldBuilder(i))
		}
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.StringBuilder:
		b.Append(text)
	case *array.LargeStringBuilder:
		b.Append(text)
	case *array.StringViewBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		b.Append([]byte(text))
	case *array.NullBuilder:
		b.AppendNull()
	default:
		for _, try := range []string{fmt.Sprint(r.IntN(100)), "2024-05-06", "2024-05-06 07:08:09.010", "07:08:09", "5ms"} {
			if b.AppendValueFromString(try) == nil {
				return
			}
		}
		b.AppendNull()
	}
}

// Columns of all types come as they were, wherever they go; keys of all types that can be are found.
func TestColumnsOfAllTypes(t *testing.T) {
	const n = 3
	each(t, n, func(r *rank) error {
		make := func(from int) (*table.Table, error) {
			var chunks []*table.Batch
			var schema *arrow.Schema
			for k := range 2 {
				rows := 9*from + 4*k // rank 0 has few, in one chunk
				var all []table.Series
				for i, typ := range every {
					c := column(r.t, typ, uint64(100*from+10*k+i), rows)
					defer c.Release()
					all = append(all, table.Column(fmt.Sprintf("c%d", i), c))
				}
				one, err := table.New(r.backend, all...)
				if err != nil {
					return nil, err
				}
				schema = one.Schema()
				for _, c := range one.Chunks() {
					chunks = append(chunks, c.Retain())
				}
				one.Release()
			}
			return table.NewTable(r.backend, schema, chunks)
		}
		var want []string
		for from := range n {
			part, err := make(from)
			if err != nil {
				return err
			}
			want = append(want, rows(part)...)
			part.Release()
		}
		part, err := make(r.id())
		if err != nil {
			return err
		}
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		for _, m := range []Measure{ByRows, ByBytes} {
			h, err := d.Rebalance(r, m)
			if err != nil {
				return err
			}
			got, err := r.all(h)
			h.Release()
			if err != nil {
				return err
			}
			require.Equal(r.t, want, got)
		}
		// Half floats have no order, and are not sorted with others.
		half := slices.Index(every, arrow.DataType(arrow.FixedWidthTypes.Float16))
		plainPart, err := part.Query().Drop(fmt.Sprintf("c%d", half)).Collect(r)
		if err != nil {
			return err
		}
		defer plainPart.Release()
		plain, err := New(r, r.comm, plainPart)
		if err != nil {
			return err
		}
		defer plain.Release()
		wants := map[*Table][]string{}
		for _, t := range []*Table{d, plain} {
			if wants[t], err = r.all(t); err != nil {
				return err
			}
			slices.Sort(wants[t])
		}
		for i := range every {
			key := fmt.Sprintf("c%d", i)
			if !backends.OnHost() && i%4 > 0 {
				continue // a pretended device takes its time
			}
			for _, by := range []By{Hash(key), Range(table.Asc(key))} {
				from := d
				if by.scheme == Ranged && i != half {
					from = plain
				}
				h, err := from.Shuffle(r, by)
				if !kernels.KeyTypes.Has(d.Schema().Field(i).Type.ID()) {
					require.ErrorIs(r.t, err, device.ErrUnsupported, key)
					continue
				}
				if err != nil {
					return err
				}
				got, err := r.all(h)
				h.Release()
				if err != nil {
					return err
				}
				slices.Sort(got)
				require.Equal(r.t, wants[from], got, key)
			}
		}
		return nil
	})
}

// Dictionaries that differ are united where they are keys, and their indices are wide enough for all values, with one type on all ranks.
func TestDictionariesOfAllRanks(t *testing.T) {
	const n = 4
	each(t, n, func(r *rank) error {
		make := func(from int) *table.Table {
			b := array.NewDictionaryBuilder(arrowmem.DefaultAllocator, dictionaryOfTexts)
			defer b.Release()
			var v []int64
			for i := range 90 {
				require.NoError(r.t, b.AppendValueFromString(fmt.Sprint(60*from+i))) // a third of them is another rank's too
				v = append(v, int64(1000*from+i))
			}
			a := b.NewArray()
			defer a.Release()
			c, err := memory.FromArrow(a)
			require.NoError(r.t, err)
			defer c.Release()
			part, err := table.New(r.backend, table.Column("d", c), table.Column("v", v))
			require.NoError(r.t, err)
			return part
		}
		part := make(r.id())
		defer part.Release()
		d, err := New(r, r.comm, part)
		if err != nil {
			return err
		}
		defer d.Release()
		require.Equal(r.t, arrow.INT8, d.Schema().Field(0).Type.(*arrow.DictionaryType).IndexType.ID())
		last := []int64{0, 0, 0, d.NumRows()}
		for _, move := range []func() (*Table, error){
			func() (*Table, error) { return d.Repartition(r, last) },
			func() (*Table, error) { return d.Replicate(r) },
			func() (*Table, error) { return d.Shuffle(r, Hash("d")) },
			func() (*Table, error) { return d.Join(r, d, table.Inner, table.On("d")) },
		} {
			h, err := move()
			if err != nil {
				return err
			}
			defer h.Release()
			// The types are the same on all ranks, also of those that got no rows.
			schemas, err := r.words(fmt.Sprint(h.Schema()))
			if err != nil {
				return err
			}
			require.Len(r.t, slices.Compact(schemas), 1)
			require.Equal(r.t, int64(h.Local().NumRows()), h.Counts()[r.id()])
		}
		j, err := d.Join(r, d, table.Inner, table.On("d"))
		if err != nil {
			return err
		}
		defer j.Release()
		// Of 90 values on each rank 30 are on the next one too: those make 4 pairs, the others one.
		shared := 30 * (n - 1)
		require.Equal(r.t, int64(90*n-2*shared+4*shared), j.NumRows())
		return nil
	})
}

// words gives every rank the texts of all.
func (r *rank) words(own string) ([]string, error) {
	all, err := agree.Bytes(r, r.comm, []byte(own))
	var texts []string
	for _, b := range all {
		texts = append(texts, string(b))
	}
	return texts, err
}
