package memory

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// Held is the type that columns of Arrow type t are held as: t itself where it
// has a Layout. Texts and bytes as views become large ones, whose bytes are
// copied; lists and bytes of a fixed size become large lists of the same items
// and large binary of the same bytes, which are not. Items of lists, fields of structs and values of dictionaries likewise.
// Others are an ErrUnsupported that names the innermost.
func Held(t arrow.DataType) (arrow.DataType, error) {
	switch t := t.(type) {
	case *arrow.StringViewType:
		return arrow.BinaryTypes.LargeString, nil
	case *arrow.BinaryViewType:
		return arrow.BinaryTypes.LargeBinary, nil
	case *arrow.ListType:
		f, err := heldField(t.ElemField())
		return arrow.ListOfField(f), err
	case *arrow.LargeListType:
		f, err := heldField(t.ElemField())
		return arrow.LargeListOfField(f), err
	case *arrow.FixedSizeListType:
		f, err := heldField(t.ElemField())
		return arrow.LargeListOfField(f), err
	case *arrow.FixedSizeBinaryType:
		return arrow.BinaryTypes.LargeBinary, nil
	case *arrow.StructType:
		fields := t.Fields()
		for i, f := range fields {
			var err error
			if fields[i], err = heldField(f); err != nil {
				return t, err
			}
		}
		return arrow.StructOf(fields...), nil
	case *arrow.DictionaryType:
		v, err := Held(t.ValueType)
		return &arrow.DictionaryType{IndexType: t.IndexType, ValueType: v, Ordered: t.Ordered}, err
	}
	if LayoutOf(t) == LayoutUnknown {
		return t, fmt.Errorf("%w: columns of type %s", ErrUnsupported, t)
	}
	return t, nil
}

func heldField(f arrow.Field) (arrow.Field, error) {
	t, err := Held(f.Type)
	if err != nil {
		return f, fmt.Errorf("field %q: %w", f.Name, err)
	}
	f.Type = t
	return f, nil
}

// HeldSchema is a schema with the types that columns of it are held as. Fields
// of types that are not held at all stay as they are.
func HeldSchema(s *arrow.Schema) *arrow.Schema {
	fields := s.Fields()
	for i, f := range fields {
		if held, err := heldField(f); err == nil {
			fields[i] = held
		}
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// CopyViews makes a column of Held's type, in host memory of from, of an array
// of views. The buffers of d are Arrow's: validity, views of 16 bytes, the
// bytes that long ones lie in. Its numbers need not be true: a view of bytes
// that are not there is an ErrMismatch that names the row.
func CopyViews(from Allocator, d arrow.ArrayData) (_ *Column, err error) {
	t, err := Held(d.DataType())
	if err != nil {
		return nil, err
	}
	buffers := d.Buffers()
	if len(buffers) < 2 {
		return nil, mismatch("an array of %s of %d buffers", d.DataType(), len(buffers))
	}
	bytes := func(i int) []byte {
		if buffers[i] == nil {
			return nil
		}
		return buffers[i].Bytes()
	}
	n, offset := int64(d.Len()), int64(d.Offset())
	if n < 0 || offset < 0 || offset > math.MaxInt64/16-n || int64(len(bytes(1))) < 16*(offset+n) {
		return nil, mismatch("%d bytes of views for %d rows behind %d", len(bytes(1)), n, offset)
	}
	views, validity := bytes(1)[16*offset:], Bitmap(bytes(0))
	if len(validity) == 0 || d.NullN() == 0 {
		validity = nil
	} else if int64(len(validity)) < BitmapBytes(offset+n) {
		return nil, mismatch("%d bytes of validity for %d rows behind %d", len(validity), n, offset)
	}
	value := func(i int64) ([]byte, error) {
		if validity != nil && !validity.Get(offset+i) {
			return nil, nil
		}
		v := views[16*i : 16*i+16]
		size := int64(int32(binary.NativeEndian.Uint32(v)))
		if size >= 0 && size <= 12 {
			return v[4 : 4+size], nil
		}
		of, at := int64(int32(binary.NativeEndian.Uint32(v[8:]))), int64(int32(binary.NativeEndian.Uint32(v[12:])))
		if size < 0 || of < 0 || of >= int64(len(buffers)-2) || at < 0 || at > int64(len(bytes(int(of)+2)))-size {
			return nil, mismatch("row %d is a view of %d bytes at %d of buffer %d, which is not there", i, size, at, of)
		}
		return bytes(int(of) + 2)[at : at+size], nil
	}
	parts := Parts{Type: t, Len: n, Nulls: UnknownNulls, Buffers: make([]*Buffer, 3), Place: Host}
	defer func() {
		if err != nil {
			for _, b := range parts.Buffers {
				b.Release()
			}
		}
	}()
	if parts.Buffers[1], err = New(from, 8*(n+1)); err != nil {
		return nil, err
	}
	offsets := View[int64](parts.Buffers[1])
	offsets[0] = 0
	for i := range n {
		v, err := value(i)
		if err != nil {
			return nil, err
		}
		offsets[i+1] = offsets[i] + int64(len(v))
	}
	if parts.Buffers[2], err = New(from, offsets[n]); err != nil {
		return nil, err
	}
	for i := range n {
		v, _ := value(i) // checked by the loop before
		copy(parts.Buffers[2].Bytes()[offsets[i]:], v)
	}
	if validity != nil {
		if parts.Buffers[0], err = NewZeroed(from, BitmapBytes(n)); err != nil {
			return nil, err
		}
		Bitmap(parts.Buffers[0].Bytes()).CopyFrom(0, validity, offset, n)
	}
	c, err := NewColumn(parts)
	parts.Buffers = nil
	return c, err
}

// IsView reports whether arrays of type t are views, which CopyViews takes.
func IsView(t arrow.DataType) bool {
	return t.ID() == arrow.STRING_VIEW || t.ID() == arrow.BINARY_VIEW
}

// FixedSize is how many items each value of type t has, of lists and bytes of a
// fixed size, which get EvenOffsets as buffer 1; ok is false of other types.
func FixedSize(t arrow.DataType) (size int32, ok bool) {
	switch t := t.(type) {
	case *arrow.FixedSizeListType:
		return t.Len(), true
	case *arrow.FixedSizeBinaryType:
		return int32(t.ByteWidth), true
	}
	return 0, false
}

// EvenOffsets are the offsets, in host memory of from, of rows values of size
// items each: int64, one more than rows.
func EvenOffsets(from Allocator, rows int64, size int32) (*Buffer, error) {
	if rows < 0 || rows >= math.MaxInt64/8-1 || size < 0 || size > 0 && rows > math.MaxInt64/int64(size) {
		return nil, mismatch("%d values of %d items", rows, size)
	}
	b, err := New(from, 8*(rows+1))
	if err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range View[int64](b) {
		View[int64](b)[i] = at
		at += int64(size)
	}
	return b, nil
}
