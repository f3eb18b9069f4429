package peers

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// kind is how a column of a result is compared.
type kind string

const (
	exact  kind = "exact"  // bit for bit: keys, counts, and values that were only moved
	approx kind = "approx" // floats that were computed: within tolerance of weighted sums
)

// tolerance is the relative difference that sums of computed floats may have.
// A row of 1e7 that is off by all of its value is a hundred times above it.
const tolerance = 1e-9

// Fingerprint is what results that are equal have in common, whatever the order
// of their rows; python/fingerprint.py makes the same and says what is in it.
type Fingerprint struct {
	Rows     int64        `json:"rows"`
	Multiset uint64       `json:"multiset,string"`
	Ordered  uint64       `json:"ordered,string"`
	Approx   [][3]float64 `json:"approx"`
	Bytes    int64        `json:"bytes"`
}

// differs says how f is not want, "" where it is. In order means that rows have
// to be at their places.
func (f *Fingerprint) differs(want *Fingerprint, inOrder bool) string {
	switch {
	case f.Rows != want.Rows:
		return fmt.Sprintf("%d rows, not %d", f.Rows, want.Rows)
	case f.Multiset != want.Multiset:
		return "the rows are others"
	case inOrder && f.Ordered != want.Ordered:
		return "the rows are in another order"
	case len(f.Approx) != len(want.Approx):
		return fmt.Sprintf("%d columns of floats, not %d", len(f.Approx), len(want.Approx))
	}
	for i, a := range f.Approx {
		w := want.Approx[i]
		at := []int{0, 2}
		if inOrder {
			at = []int{0, 1, 2}
		}
		for _, k := range at {
			if d := math.Abs(a[k] - w[k]); !(d <= tolerance*max(a[2], w[2])) {
				return fmt.Sprintf("floats of column %d: their sum %d is %v, not %v", i, k, a[k], w[k])
			}
		}
	}
	return ""
}

const (
	seed     = 0x9E3779B97F4A7C15
	nullBits = 0xA5A5A5A5DEADBEEF
)

// mix is the finaliser of MurmurHash3.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xFF51AFD7ED558CCD
	x ^= x >> 33
	x *= 0xC4CEB9FE1A85EC53
	return x ^ x>>33
}

// weight is a hash as a number in [0, 1).
func weight(h uint64) float64 { return float64(mix(h+seed)>>11) * 0x1p-53 }

// hashString hashes the length, then each word of eight bytes, filled up with
// zeros.
func hashString(s string) uint64 {
	h := mix(uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		h = mix(h ^ binary.LittleEndian.Uint64([]byte(s[:8])))
	}
	if len(s) > 0 {
		var last [8]byte
		copy(last[:], s)
		h = mix(h ^ binary.LittleEndian.Uint64(last[:]))
	}
	return h
}

// fingerprint makes the fingerprint of a result in batches, whose first `order`
// exact columns are in the order that the operation promises.
func fingerprint(batches []arrow.RecordBatch, columns []kind, order int) (*Fingerprint, error) {
	f := &Fingerprint{}
	for _, k := range columns {
		if k == approx {
			f.Approx = append(f.Approx, [3]float64{})
		}
	}
	for _, b := range batches {
		if int(b.NumCols()) != len(columns) {
			return nil, fmt.Errorf("a result of %d columns, not %d", b.NumCols(), len(columns))
		}
		var bits []func(i int) uint64
		var floats []func(i int) float64
		for c, k := range columns {
			a := b.Column(c)
			f.Bytes += bytesOf(a)
			if k == approx {
				v, err := floatsOf(a)
				if err != nil {
					return nil, err
				}
				floats = append(floats, v)
				continue
			}
			v, err := bitsOf(a)
			if err != nil {
				return nil, err
			}
			bits = append(bits, v)
		}
		for i := range int(b.NumRows()) {
			h, first := uint64(seed), uint64(seed)
			for c, v := range bits {
				h = mix(h*31 ^ v(i))
				if c < order {
					first = h
				}
			}
			place := mix(uint64(f.Rows) + seed)
			f.Rows++
			f.Multiset += h
			f.Ordered += mix(first + place)
			if len(floats) == 0 {
				continue
			}
			w, p := weight(h), weight(place)
			for c, v := range floats {
				x := v(i)
				f.Approx[c][0] += w * x
				f.Approx[c][1] += p * x
				f.Approx[c][2] += math.Abs(x)
			}
		}
	}
	return f, nil
}

// bitsOf gives the bits of each value of a column.
func bitsOf(a arrow.Array) (func(i int) uint64, error) {
	var v func(i int) uint64
	switch a := a.(type) {
	case *array.Int64:
		v = func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Int32:
		v = func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Uint64:
		v = a.Value
	case *array.Uint32:
		v = func(i int) uint64 { return uint64(a.Value(i)) }
	case *array.Float64:
		v = func(i int) uint64 { return math.Float64bits(a.Value(i)) }
	case *array.Boolean:
		v = func(i int) uint64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}
	case *array.String:
		v = func(i int) uint64 { return hashString(a.Value(i)) }
	case *array.LargeString:
		v = func(i int) uint64 { return hashString(a.Value(i)) }
	case *array.StringView:
		v = func(i int) uint64 { return hashString(a.Value(i)) }
	case *array.Dictionary:
		values, err := bitsOf(a.Dictionary())
		if err != nil {
			return nil, err
		}
		v = func(i int) uint64 { return values(a.GetValueIndex(i)) }
	default:
		return nil, fmt.Errorf("a result of type %s", a.DataType())
	}
	if a.NullN() == 0 {
		return v, nil
	}
	return func(i int) uint64 {
		if a.IsNull(i) {
			return nullBits
		}
		return v(i)
	}, nil
}

// floatsOf gives the values of a column of floats, 0 for nulls: the sum of no
// values is 0 in some libraries and null in others.
func floatsOf(a arrow.Array) (func(i int) float64, error) {
	v, ok := a.(*array.Float64)
	if !ok {
		return nil, fmt.Errorf("a result of type %s where floats are computed", a.DataType())
	}
	return func(i int) float64 {
		if v.IsNull(i) {
			return 0
		}
		return v.Value(i)
	}, nil
}

// bytesOf is what the values take as numbers of eight bytes and strings with
// four bytes of offset; validity is a bit a row where there are nulls.
func bytesOf(a arrow.Array) int64 {
	n, size := int64(a.Len()), int64(0)
	if a.NullN() > 0 {
		size = (n + 7) / 8
	}
	switch a := a.(type) {
	case *array.Boolean:
		return size + (n+7)/8
	case *array.Uint32, *array.Int32:
		return size + 4*n
	case *array.String:
		return size + 4*n + span(a.ValueOffsets())
	case *array.LargeString:
		return size + 4*n + span(a.ValueOffsets())
	}
	return size + 8*n
}

// bytesOfAll is bytesOf over the columns of batches.
func bytesOfAll(batches []arrow.RecordBatch) (size int64) {
	for _, b := range batches {
		for _, c := range b.Columns() {
			size += bytesOf(c)
		}
	}
	return size
}

// span is the bytes between the first offset and the last.
func span[T int32 | int64](offsets []T) int64 {
	if len(offsets) == 0 {
		return 0
	}
	return int64(offsets[len(offsets)-1] - offsets[0])
}
