package peers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/memory"
)

// groups is how many distinct keys "1e5" stands for.
const groups = 100_000

// source is the generator of column number i of an operation: one seed makes
// the data of every run the same.
func source(i uint64) *rand.Rand { return rand.New(rand.NewPCG(42, i)) }

// column is a column of an input.
type column struct {
	name   string
	values arrow.Array
}

// record makes a table of columns.
func record(columns ...column) arrow.RecordBatch {
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.values.DataType(), Nullable: c.values.NullN() > 0})
		arrays = append(arrays, c.values)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))
}

// fixed makes an array of v without copying; valid is nil or a bitmap.
func fixed[T int64 | float64 | float32](t arrow.DataType, v []T, valid []byte, nulls int) arrow.Array {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(T(0))))
	buffers := []*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(bytes)}
	if valid != nil {
		buffers[0] = arrowmemory.NewBufferBytes(valid)
	}
	return array.MakeFromData(array.NewData(t, len(v), buffers, nil, nulls, 0))
}

func int64s(v []int64) arrow.Array     { return fixed(arrow.PrimitiveTypes.Int64, v, nil, 0) }
func float64s(v []float64) arrow.Array { return fixed(arrow.PrimitiveTypes.Float64, v, nil, 0) }

// holes are nulls at a share of n rows.
func holes(i uint64, n int64, share float64) (valid []byte, nulls int) {
	r, valid := source(i), make([]byte, (n+7)/8)
	for k := range n {
		if r.Float64() < share {
			nulls++
		} else {
			valid[k/8] |= 1 << (k % 8)
		}
	}
	return valid, nulls
}

// room is n numbers in memory as the host's device gives it, where a table lies
// that was read from a file: large blocks are of huge pages where the system has
// them. Nobody frees it; the collector does.
func room[T int64 | float64](n int64) []T {
	block, err := memory.Heap.Allocate(n * int64(unsafe.Sizeof(T(0))))
	if err != nil { // more than the machine has: Go says so
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(block.Bytes))), n)
}

// draws are n numbers below limit.
func draws(i uint64, n, limit int64) []int64 {
	r, v := source(i), room[int64](n)
	for k := range v {
		v[k] = r.Int64N(limit)
	}
	return v
}

// permutation are the numbers below n, shuffled.
func permutation(i uint64, n int64) []int64 {
	r, v := source(i), room[int64](n)
	for k := range v { // the inside-out shuffle
		j := r.Int64N(int64(k) + 1)
		v[k] = v[j]
		v[j] = int64(k)
	}
	return v
}

// spread puts numbers to places all over the type, equal ones to the same.
func spread(v []int64) []int64 {
	for k := range v {
		v[k] = int64(mix(uint64(v[k]) + seed))
	}
	return v
}

// anywhere are n numbers of all the type.
func anywhere(i uint64, n int64) []int64 {
	r, v := source(i), room[int64](n)
	for k := range v {
		v[k] = int64(r.Uint64())
	}
	return v
}

// zipf are n numbers below a million of which the k-th is drawn 1/(k+1)^1.1 as
// often as the first.
func zipf(i uint64, n int64) []int64 {
	z, v := rand.NewZipf(source(i), 1.1, 1, 999_999), room[int64](n)
	for k := range v {
		v[k] = int64(z.Uint64())
	}
	return v
}

// floats are n numbers in [0, 1).
func floats(i uint64, n int64) []float64 {
	r, v := source(i), room[float64](n)
	for k := range v {
		v[k] = r.Float64()
	}
	return v
}

// sorted sorts v.
func sorted(v []int64) []int64 {
	slices.Sort(v)
	return v
}

// truths are n booleans.
func truths(i uint64, n int64) arrow.Array {
	bits, _ := holes(i, n, 0.5)
	return array.MakeFromData(array.NewData(arrow.FixedWidthTypes.Boolean, int(n),
		[]*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(bits)}, nil, 0, 0))
}

// labels are the texts of numbers: "id0000012345".
func labels(v []int64) arrow.Array {
	return texts(len(v), func(to []byte, k int) []byte { return fmt.Appendf(to, "id%010d", v[k]) })
}

// words are n texts of 4 to 16 letters, nearly all distinct.
func words(i uint64, n int64) arrow.Array {
	r := source(i)
	return texts(int(n), func(to []byte, _ int) []byte {
		for range 4 + r.IntN(13) {
			to = append(to, byte('a'+r.IntN(26)))
		}
		return to
	})
}

// texts makes an array of strings.
func texts(n int, add func(to []byte, k int) []byte) arrow.Array {
	offsets, data := make([]int32, n+1), make([]byte, 0, 12*n)
	for k := range n {
		data = add(data, k)
		offsets[k+1] = int32(len(data))
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 4*len(offsets))
	return array.MakeFromData(array.NewData(arrow.BinaryTypes.String, n,
		[]*arrowmemory.Buffer{nil, arrowmemory.NewBufferBytes(bytes), arrowmemory.NewBufferBytes(data)}, nil, 0, 0))
}
