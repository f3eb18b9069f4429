package exec

import (
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/memory"
)

// maskKey marks the field of a mask. It differs from process to process: a file may name a column and its metadata as it likes.
var maskKey = fmt.Sprintf("volley.mask.%x.%x", rand.Uint64(), rand.Uint64())

// MaskField is the last field of a batch of rows that a mask goes with: the rows are those for which
// it is true. It has a name that a column may have, too; Mask tells them apart.
var MaskField = arrow.Field{Type: arrow.FixedWidthTypes.Boolean, Nullable: true, Metadata: arrow.NewMetadata([]string{maskKey}, []string{""})}

// Mask is the mask that goes with the rows of a batch, nil where there is none. The caller gets no
// reference.
func Mask(b *flow.Batch) *memory.Column {
	last := b.NumColumns() - 1
	if last < 0 {
		return nil
	}
	if f := b.Schema().Field(last); f.Name != MaskField.Name || f.Metadata.FindKey(maskKey) < 0 {
		return nil
	}
	return b.Column(last)
}

// trueWord is which of n rows, from a row of a mask in host memory on, are true.
func trueWord(mask *memory.Column, from, n int64) uint64 {
	w := mask.Bits().Word(mask.Offset()+from, n)
	if v := mask.Validity(); v != nil {
		w &= v.Word(mask.Offset()+from, n)
	}
	return w
}

// CountTrue is how many rows of a mask in host memory are true.
func CountTrue(mask *memory.Column) int64 {
	if mask.Validity() == nil {
		return mask.Bits().Count(mask.Offset(), mask.Len())
	}
	n := 0
	for i := int64(0); i < mask.Len(); i += 64 {
		n += bits.OnesCount64(trueWord(mask, i, min(64, mask.Len()-i)))
	}
	return int64(n)
}

// RowNumbers are the numbers of the rows of a mask in host memory that are true. It has fewer than 2^32 rows.
func RowNumbers(a memory.Allocator, mask *memory.Column) (*memory.Column, error) {
	count := CountTrue(mask)
	buffer, err := memory.New(a, 4*count)
	if err != nil {
		return nil, err
	}
	rows := memory.View[uint32](buffer)
	k := 0
	for i := int64(0); i < mask.Len(); i += 64 {
		for w := trueWord(mask, i, min(64, mask.Len()-i)); w != 0; w &= w - 1 {
			rows[k] = uint32(i) + uint32(bits.TrailingZeros64(w))
			k++
		}
	}
	return memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint32, Len: count, Buffers: []*memory.Buffer{nil, buffer}, Place: a.Place()})
}

// Among is a mask of all rows of another that keeps those of its rows for which kept is true: kept has
// a value for each row that is true in mask. Both are in host memory.
func Among(a memory.Allocator, mask, kept *memory.Column) (*memory.Column, error) {
	buffer, err := memory.New(a, memory.BitmapBytes(mask.Len()))
	if err != nil {
		return nil, err
	}
	to, at := memory.Bitmap(buffer.Bytes()), int64(0)
	for i := int64(0); i < mask.Len(); i += 64 {
		n := min(64, mask.Len()-i)
		w := trueWord(mask, i, n)
		count := int64(bits.OnesCount64(w))
		out := uint64(0)
		if count > 0 {
			for yes := trueWord(kept, at, count); w != 0 && yes != 0; w, yes = w&(w-1), yes>>1 {
				out |= (w & -w) & -(yes & 1)
			}
		}
		at += count
		to.PutWord(i, n, out)
	}
	return memory.NewColumn(memory.Parts{Type: MaskField.Type, Len: mask.Len(), Buffers: []*memory.Buffer{nil, buffer}, Place: a.Place()})
}

// rowsOf is how many rows a batch has, of those that its mask has if there is one.
func rowsOf(b *flow.Batch) int64 {
	if m := Mask(b); m != nil {
		return CountTrue(m)
	}
	return b.Len()
}
