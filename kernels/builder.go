package kernels

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// columnBuilder lays scalars out as Arrow does. After the first error it
// builds nothing more.
type columnBuilder struct {
	alloc memory.Allocator
	err   error
}

func (b *columnBuilder) buffer(n int64) *memory.Buffer {
	if b.err != nil {
		return nil
	}
	buf, err := memory.NewZeroed(b.alloc, n)
	b.err = err
	return buf
}

func (b *columnBuilder) column(t arrow.DataType, values []Scalar) *memory.Column {
	p := memory.Parts{Type: t, Len: int64(len(values)), Nulls: 0, Place: b.alloc.Place()}
	layout := memory.LayoutOf(t)
	for _, v := range values {
		if !v.valid {
			p.Nulls++
		}
	}
	if layout != memory.LayoutNull {
		p.Buffers = []*memory.Buffer{b.validity(values, p.Nulls)}
	}
	switch layout {
	case memory.LayoutBits:
		p.Buffers = append(p.Buffers, b.bits(values))
	case memory.LayoutFixed:
		p.Buffers = append(p.Buffers, b.fixed(memory.Width(t), values))
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		p.Buffers = append(p.Buffers, b.text(layout == memory.LayoutLargeBinary, values)...)
	case memory.LayoutList, memory.LayoutLargeList:
		offsets, items := b.list(layout == memory.LayoutLargeList, values)
		p.Buffers = append(p.Buffers, offsets)
		p.Children = []*memory.Column{b.column(t.(arrow.ListLikeType).Elem(), items)}
	case memory.LayoutStruct:
		for k, f := range t.(*arrow.StructType).Fields() {
			fields := make([]Scalar, len(values))
			for i, v := range values {
				if fields[i] = Null(f.Type); v.valid {
					fields[i] = v.items[k]
				}
			}
			p.Children = append(p.Children, b.column(f.Type, fields))
		}
	case memory.LayoutDictionary:
		indices, distinct := b.dictionary(values)
		if index := t.(*arrow.DictionaryType).IndexType; uint64(len(distinct)) > indexLimit(index) && b.err == nil {
			b.err = fmt.Errorf("%w: %d distinct values in a dictionary with indices of %s: cast to a wider index type", device.ErrValue, len(distinct), index)
		}
		p.Buffers = append(p.Buffers, b.fixed(memory.Width(t), indices))
		p.Dictionary = b.column(t.(*arrow.DictionaryType).ValueType, distinct)
	}
	return b.finish(p)
}

// finish makes the column of its parts; after an error it releases them.
func (b *columnBuilder) finish(p memory.Parts) *memory.Column {
	if b.err != nil {
		for _, buf := range p.Buffers {
			buf.Release()
		}
		for _, child := range p.Children {
			child.Release()
		}
		p.Dictionary.Release()
		return nil
	}
	c, err := memory.NewColumn(p)
	b.err = err
	return c
}

func (b *columnBuilder) validity(values []Scalar, nulls int64) *memory.Buffer {
	if nulls == 0 {
		return nil
	}
	buf := b.buffer(memory.BitmapBytes(int64(len(values))))
	if b.err == nil {
		for i, v := range values {
			memory.Bitmap(buf.Bytes()).Put(int64(i), v.valid)
		}
	}
	return buf
}

func (b *columnBuilder) bits(values []Scalar) *memory.Buffer {
	buf := b.buffer(memory.BitmapBytes(int64(len(values))))
	if b.err == nil {
		for i, v := range values {
			memory.Bitmap(buf.Bytes()).Put(int64(i), v.valid && v.bits != 0)
		}
	}
	return buf
}

func (b *columnBuilder) fixed(width int, values []Scalar) *memory.Buffer {
	buf := b.buffer(int64(width * len(values)))
	if b.err != nil {
		return nil
	}
	var word [16]byte
	for i := range values {
		v := &values[i]
		binary.LittleEndian.PutUint64(word[:], v.bits)
		binary.LittleEndian.PutUint64(word[8:], uint64(v.high))
		copy(buf.Bytes()[i*width:(i+1)*width], word[:])
	}
	return buf
}

func (b *columnBuilder) offsets(large bool, values []Scalar, length func(Scalar) int) (*memory.Buffer, int64) {
	width, sum := int64(4), int64(0)
	if large {
		width = 8
	}
	buf := b.buffer(width * int64(len(values)+1))
	if b.err != nil {
		return nil, 0
	}
	for i, v := range values {
		if v.valid {
			sum += int64(length(v))
		}
		if large {
			memory.View[int64](buf)[i+1] = sum
		} else {
			memory.View[int32](buf)[i+1] = int32(sum)
		}
	}
	if !large && sum > 1<<31-1 {
		b.err = fmt.Errorf("%w: %d bytes or items in a type with 32-bit offsets: cast to the large type", device.ErrValue, sum)
	}
	return buf, sum
}

func (b *columnBuilder) text(large bool, values []Scalar) []*memory.Buffer {
	offsets, sum := b.offsets(large, values, func(v Scalar) int { return len(v.text) })
	data := b.buffer(sum)
	if b.err == nil {
		rest := data.Bytes()
		for _, v := range values {
			if v.valid {
				rest = rest[copy(rest, v.text):]
			}
		}
	}
	return []*memory.Buffer{offsets, data}
}

func (b *columnBuilder) list(large bool, values []Scalar) (*memory.Buffer, []Scalar) {
	offsets, _ := b.offsets(large, values, func(v Scalar) int { return len(v.items) })
	var items []Scalar
	for _, v := range values {
		if v.valid {
			items = append(items, v.items...)
		}
	}
	return offsets, items
}

func (b *columnBuilder) dictionary(values []Scalar) (indices, distinct []Scalar) {
	type key struct {
		bits uint64
		high int64
		text string
	}
	seen := map[key]uint64{}
	indices = make([]Scalar, len(values))
	for i, v := range values {
		if !v.valid {
			continue
		}
		k := key{v.bits, v.high, v.text}
		n, have := seen[k]
		if !have {
			n = uint64(len(distinct))
			seen[k] = n
			distinct = append(distinct, v)
		}
		indices[i] = Scalar{valid: true, bits: n}
	}
	return indices, distinct
}

// indexLimit is how many values indices of a type can number.
func indexLimit(t arrow.DataType) uint64 {
	bits := t.(arrow.FixedWidthDataType).BitWidth()
	if SignedTypes.Has(t.ID()) {
		bits--
	}
	return 1 << min(bits, 63)
}
