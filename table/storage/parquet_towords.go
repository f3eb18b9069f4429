package storage

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// toWords stores as many values as there is room for, of those that PLAIN has in b.
type toWords func(to []uint32, b []byte)

// toWordsOf is how values of a type become words of another, and how many bytes
// one has in the file; nil where they do not. A type becomes itself where it has 32
// bits, and every number float32, rounded as Go does; times are the whole numbers that
// they are held as.
func toWordsOf(t, as arrow.DataType) (store toWords, width int64) {
	if arrow.TypeEqual(t, as) {
		switch t.ID() {
		case arrow.INT32, arrow.UINT32, arrow.DATE32, arrow.TIME32, arrow.FLOAT32:
			return sameWords, 4
		}
		return nil, 0
	}
	if as.ID() != arrow.FLOAT32 {
		return nil, 0
	}
	switch t.ID() {
	case arrow.INT8:
		return narrowWords[int8], 4
	case arrow.INT16:
		return narrowWords[int16], 4
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return narrowWords[int32], 4
	case arrow.UINT8:
		return narrowWords[uint8], 4
	case arrow.UINT16:
		return narrowWords[uint16], 4
	case arrow.UINT32:
		return narrowWords[uint32], 4
	case arrow.INT64, arrow.TIMESTAMP, arrow.TIME64, arrow.DURATION:
		return wideWords[int64], 8
	case arrow.UINT64:
		return wideWords[uint64], 8
	case arrow.FLOAT64:
		return doubleWords, 8
	}
	return nil, 0
}

// boolWords are false and true as words of a type, nil where there are none.
func boolWords(as arrow.DataType) []uint32 {
	switch as.ID() {
	case arrow.INT32:
		return []uint32{0, 1}
	case arrow.FLOAT32:
		return []uint32{0, math.Float32bits(1)}
	}
	return nil
}

func sameWords(to []uint32, b []byte) {
	b = b[:4*len(to)]
	for k := range to {
		to[k] = binary.LittleEndian.Uint32(b[4*k:])
	}
}

func narrowWords[S int8 | int16 | int32 | uint8 | uint16 | uint32](to []uint32, b []byte) {
	b = b[:4*len(to)]
	for k := range to {
		to[k] = math.Float32bits(float32(S(binary.LittleEndian.Uint32(b[4*k:]))))
	}
}

func wideWords[S int64 | uint64](to []uint32, b []byte) {
	b = b[:8*len(to)]
	for k := range to {
		to[k] = math.Float32bits(float32(S(binary.LittleEndian.Uint64(b[8*k:]))))
	}
}

func doubleWords(to []uint32, b []byte) {
	b = b[:8*len(to)]
	for k := range to {
		to[k] = math.Float32bits(float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*k:]))))
	}
}

// wordValues takes over the dictionary of a column of words.
type wordValues struct {
	flatValues
	group  *WordGroup
	column *wordColumn
}

func (v *wordValues) dictionary(b []byte, n int64, _ **memory.Buffer) error {
	if int64(len(b))/v.column.width < n {
		return errValuesEnd
	}
	table := memory.View[uint32](memory.Wrap(v.group.take(tableBytes(n)), nil))
	v.column.dict = table[:n]
	v.column.plain(v.column.dict, b)
	clear(table[n:])
	return nil
}
