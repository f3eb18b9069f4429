package table

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	hostdevice "github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// partsShown are the rows of parts as text, which are released.
func partsShown(t *testing.T, parts []*Table) [][]string {
	t.Helper()
	out := make([][]string, len(parts))
	for i, p := range parts {
		out[i] = shown(p)
		require.Len(t, out[i], int(p.NumRows()))
		p.Release()
	}
	return out
}

// hashParts is the part of each row as the contract says, by the reference's hash.
func hashParts(t *testing.T, whole *Table, n int, keys ...string) []int {
	t.Helper()
	host, err := whole.onHost(t.Context())
	require.NoError(t, err)
	defer host.Release()
	s, err := hostdevice.New().NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var out []int
	for _, c := range host.chunks {
		hashes, err := reference.New().Hash.Func(t.Context(), s, pick(c, keys), 0)
		require.NoError(t, err)
		for i := range c.Len() {
			high, _ := bits.Mul64(kernels.ScalarAt(hashes, i).Uint64(), uint64(n))
			out = append(out, int(high))
		}
		hashes.Release()
	}
	return out
}

// TestPartition: each row is in the part that the contract says, once, with the table's
// order within it, whatever the chunks.
func TestPartition(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(3000, 40, 7)
	for _, chunks := range []int{1, 5} {
		whole := tableOf(t, b, recs, chunks, 3)
		rows := shown(whole)
		for _, keys := range [][]string{{"k"}, {"s"}, {"v"}, {"k", "s"}, {"s", "k", "v"}} {
			for _, n := range []int{1, 2, 7, 64} {
				parts, err := whole.Partition(t.Context(), n, keys...)
				require.NoError(t, err)
				require.Len(t, parts, n)
				want := make([][]string, n)
				for row, p := range hashParts(t, whole, n, keys...) {
					want[p] = append(want[p], rows[row])
				}
				for _, p := range parts {
					require.True(t, p.Schema().Equal(whole.Schema()))
					require.Same(t, whole.Backend(), p.Backend())
				}
				for p, got := range partsShown(t, parts) {
					equalRows(t, fmt.Sprintf("part %d of %d by %v, %d chunks", p, n, keys, chunks), got, want[p])
				}
			}
		}
	}
}

// TestPartitionKeyForms: keys that are equal by value are in one part, in whatever form
// a table has them.
func TestPartitionKeyForms(t *testing.T) {
	b := testBackend(t)
	texts := []string{"", "a", "lyon", "a text of more than twelve bytes", "", "ü", "lyon"}
	valid := []bool{true, true, true, true, false, true, true}
	forms := map[string][]*Table{}
	give := func(of string, a arrow.Array) {
		record := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "k", Type: a.DataType(), Nullable: true}}, nil), []arrow.Array{a}, int64(a.Len()))
		made, err := FromRecord(b, record)
		require.NoError(t, err)
		record.Release()
		forms[of] = append(forms[of], made)
	}
	var plain arrow.Array
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView} {
		builder := array.NewBuilder(arrowmemory.DefaultAllocator, typ)
		for i, text := range texts {
			if !valid[i] {
				builder.AppendNull()
			} else if one, ok := builder.(array.StringLikeBuilder); ok {
				one.Append(text)
			} else {
				builder.(interface{ Append([]byte) }).Append([]byte(text))
			}
		}
		a := builder.NewArray()
		give("text", a)
		if plain == nil {
			plain = a
		}
	}
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint32} {
		indices := array.NewBuilder(arrowmemory.DefaultAllocator, typ)
		for i := range texts {
			require.NoError(t, indices.AppendValueFromString(fmt.Sprint(i)))
		}
		give("text", array.NewDictionaryArray(&arrow.DictionaryType{IndexType: typ, ValueType: arrow.BinaryTypes.String}, indices.NewArray(), plain))
	}

	add := func(of string, columns ...Series) {
		for _, c := range columns {
			made, err := New(b, c)
			require.NoError(t, err)
			forms[of] = append(forms[of], made)
		}
	}
	add("number", Column("k", []int8{0, 1, 100}), Column("k", []int16{0, 1, 100}), Column("k", []int32{0, 1, 100}), Column("k", []int64{0, 1, 100}),
		Column("k", []uint8{0, 1, 100}), Column("k", []uint16{0, 1, 100}), Column("k", []uint32{0, 1, 100}), Column("k", []uint64{0, 1, 100}))
	add("below zero", Column("k", []int8{-1, -128}), Column("k", []int16{-1, -128}), Column("k", []int32{-1, -128}), Column("k", []int64{-1, -128}))
	add("float", Column("k", []float32{0, 1.5, float32(math.NaN())}), Column("k", []float64{0, 1.5, math.NaN()}),
		Column("k", []float64{math.Copysign(0, -1), 1.5, math.Float64frombits(0xfff8000000000123)}))
	for of, tables := range forms {
		for _, n := range []int{5, 1000} {
			var first []int64
			for i, one := range tables {
				parts, err := one.Partition(t.Context(), n, "k")
				require.NoError(t, err)
				counts := make([]int64, n)
				for p := range parts {
					counts[p] = parts[p].NumRows()
				}
				releaseTables(parts)
				if i == 0 {
					first = counts
				}
				require.Equal(t, first, counts, "%s of %s in %d parts", of, one.Schema().Field(0).Type, n)
			}
		}
		releaseTables(tables)
	}
}

// TestPartitionCarriesEveryType: columns that are no keys travel whatever their type.
func TestPartitionCarriesEveryType(t *testing.T) {
	b := testBackend(t)
	const n = 50
	list := array.NewListBuilder(arrowmemory.DefaultAllocator, arrow.BinaryTypes.String)
	pair := array.NewStructBuilder(arrowmemory.DefaultAllocator, arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}))
	k := make([]int64, n)
	for i := range n {
		k[i] = int64(i)
		list.Append(i%3 > 0)
		for j := range i % 3 {
			list.ValueBuilder().(*array.StringBuilder).Append(strings.Repeat("y", j+1))
		}
		pair.Append(i%5 > 0)
		pair.FieldBuilder(0).(*array.Int32Builder).Append(int32(i))
	}
	columns := []Series{Column("k", k)}
	for name, builder := range map[string]array.Builder{"list": list, "pair": pair, "none": array.NewNullBuilder(arrowmemory.DefaultAllocator)} {
		if nulls, ok := builder.(*array.NullBuilder); ok {
			nulls.AppendNulls(n)
		}
		a := builder.NewArray()
		c, err := memory.FromArrow(a)
		require.NoError(t, err)
		defer c.Release()
		a.Release()
		columns = append(columns, Column(name, c))
	}
	whole, err := New(b, columns...)
	require.NoError(t, err)
	defer whole.Release()
	parts, err := whole.Partition(t.Context(), 4, "k")
	require.NoError(t, err)
	var got []string
	for _, rows := range partsShown(t, parts) {
		got = append(got, rows...)
	}
	want := shown(whole)
	slices.Sort(got)
	slices.Sort(want)
	require.Equal(t, want, got)
	_, err = whole.Partition(t.Context(), 4, "list")
	require.ErrorIs(t, err, device.ErrUnsupported)
	require.ErrorContains(t, err, `"list"`)
}

// TestPartitionRoundRobin: row i is in part i modulo n, whatever the chunks.
func TestPartitionRoundRobin(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(1001, 9, 5)
	for _, chunks := range []int{1, 6} {
		whole := tableOf(t, b, recs, chunks, 8)
		small := testChunks(t, whole, 17)
		for _, n := range []int{1, 3, 7, 2000} {
			parts, err := small.PartitionRoundRobin(t.Context(), n)
			require.NoError(t, err)
			want := make([][]string, n)
			for i, row := range shown(whole) {
				want[i%n] = append(want[i%n], row)
			}
			for p, got := range partsShown(t, parts) {
				equalRows(t, fmt.Sprintf("part %d of %d", p, n), got, want[p])
			}
		}
	}
}

// testChunks is a table in chunks of at most so many rows.
func testChunks(t *testing.T, whole *Table, rows int64) *Table {
	t.Helper()
	var chunks []*Batch
	for _, c := range whole.chunks {
		for at := int64(0); at < c.Len(); at += rows {
			one, err := c.Slice(at, min(rows, c.Len()-at))
			require.NoError(t, err)
			chunks = append(chunks, one)
		}
	}
	made, err := NewTable(whole.backend, whole.schema, chunks)
	require.NoError(t, err)
	t.Cleanup(made.Release)
	return made
}

// TestPartitionManyPieces: pieces that are spread one after another are one table's.
func TestPartitionManyPieces(t *testing.T) {
	b := testBackend(t)
	const rows = pieceRows/2 + 1
	values := make([]int64, rows)
	for i := range values {
		values[i] = int64(i % 1000)
	}
	one, err := New(b, Column("k", values))
	require.NoError(t, err)
	defer one.Release()
	whole, err := NewTable(b, one.schema, []*Batch{one.chunks[0].Retain(), one.chunks[0].Retain(), one.chunks[0].Retain()})
	require.NoError(t, err)
	defer whole.Release()
	parts, err := whole.PartitionRoundRobin(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, whole.NumRows(), parts[0].NumRows()+parts[1].NumRows())
	require.LessOrEqual(t, parts[0].NumRows()-parts[1].NumRows(), int64(1))
	releaseTables(parts)
	parts, err = whole.Partition(t.Context(), 3, "k")
	require.NoError(t, err)
	sum := int64(0)
	for _, p := range parts {
		sum += p.NumRows()
		got := collect(t, p.Query().Distinct("k"))
		require.Equal(t, int64(0), p.NumRows()%3, "each key comes in every piece")
		require.Less(t, len(got), 1000)
	}
	require.Equal(t, whole.NumRows(), sum)
	releaseTables(parts)
}

// TestPartitionBySize cuts without a copy.
func TestPartitionBySize(t *testing.T) {
	b := testBackend(t)
	whole := tableOf(t, b, randomRecs(100, 9, 5), 4, 8)
	rows := shown(whole)
	parts, err := whole.PartitionBySize(0, 30, 0, 69, 1)
	require.NoError(t, err)
	at := 0
	for i, got := range partsShown(t, parts) {
		equalRows(t, fmt.Sprintf("part %d", i), got, rows[at:at+len(got)])
		at += len(got)
	}
	require.Equal(t, 100, at)
	for _, sizes := range [][]int64{{}, {99}, {101}, {-1, 101}, {math.MaxInt64, 100}, {50, math.MaxInt64}} {
		_, err := whole.PartitionBySize(sizes...)
		require.ErrorIs(t, err, device.ErrMismatch, "%v", sizes)
	}
}

// TestPartitionNothing: no rows make n tables of none; wrong arguments are named.
func TestPartitionNothing(t *testing.T) {
	b := testBackend(t)
	whole := tableOf(t, b, randomRecs(10, 9, 5), 1, 8)
	none, err := NewTable(b, whole.schema, nil)
	require.NoError(t, err)
	defer none.Release()
	parts, err := none.Partition(t.Context(), 3, "k")
	require.NoError(t, err)
	require.Len(t, parts, 3)
	for _, p := range parts {
		require.True(t, p.Schema().Equal(whole.Schema()))
		require.Zero(t, p.NumRows())
	}
	releaseTables(parts)
	for _, n := range []int{0, -1, kernels.MaxParts + 1} {
		_, err := whole.Partition(t.Context(), n, "k")
		require.ErrorIs(t, err, device.ErrMismatch)
		require.ErrorContains(t, err, fmt.Sprint(n))
		_, err = whole.PartitionRoundRobin(t.Context(), n)
		require.ErrorIs(t, err, device.ErrMismatch)
	}
	_, err = whole.Partition(t.Context(), 2)
	require.ErrorIs(t, err, device.ErrMismatch)
	_, err = whole.Partition(t.Context(), 2, "nobody")
	require.ErrorContains(t, err, "nobody")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = whole.Partition(ctx, 2, "k")
	require.ErrorIs(t, err, device.ErrCanceled)
	_, err = whole.PartitionByRange(ctx, none, Asc("k"))
	require.ErrorIs(t, err, device.ErrMismatch, "four columns for a key")
}
