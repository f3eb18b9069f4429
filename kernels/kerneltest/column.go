package kerneltest

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Column makes the column of a case on the host: drawn values, garbage under
// the nulls, its first value at the case's offset of the buffers, sometimes
// more values behind its last. It belongs to the suite, which checks that no
// call changes it and releases it.
func (s *Suite) Column(c Case) *memory.Column {
	tail := int64(0)
	if s.Rand.IntN(3) == 0 {
		tail = int64(s.Rand.IntN(70))
	}
	whole := s.build(c.Type, c.Offset+c.Length+tail, c.Nulls, c.Domain)
	defer whole.Release()
	// Of any window but a whole column the null count is not known beforehand.
	window, err := whole.Slice(c.Offset, c.Length)
	s.must(err)
	return s.Own(window)
}

// Mask makes a bool column of n rows of which about share are true.
func (s *Suite) Mask(n int64, share float64, nulls Pattern, offset int64) *memory.Column {
	c := s.Column(Case{Type: arrow.FixedWidthTypes.Boolean, Length: n, Offset: offset, Nulls: nulls})
	bits := c.Bits()
	for i := range n {
		bits.Put(c.Offset()+i, s.Rand.Float64() < share)
	}
	s.Own(c.Retain()) // to note the bytes once more
	return c
}

// FromScalars makes a host column of values; it belongs to the suite.
func (s *Suite) FromScalars(t arrow.DataType, values ...kernels.Scalar) *memory.Column {
	c, err := kernels.FromScalars(s.allocator(), t, values)
	s.must(err)
	return s.Own(c)
}

// build makes a column of n values.
func (s *Suite) build(t arrow.DataType, n int64, nulls Pattern, d Domain) *memory.Column {
	p := memory.Parts{Type: t, Len: n, Nulls: memory.UnknownNulls, Place: memory.Host}
	layout := memory.LayoutOf(t)
	var valid memory.Bitmap
	if layout != memory.LayoutNull {
		b := s.validity(n, nulls)
		if p.Buffers = []*memory.Buffer{b}; b != nil {
			valid = b.Bytes()
		}
	}
	switch layout {
	case memory.LayoutBits:
		b := s.buffer(memory.BitmapBytes(n))
		for i := range b.Bytes() {
			b.Bytes()[i] = byte(s.Rand.Uint32())
		}
		p.Buffers = append(p.Buffers, b)
	case memory.LayoutFixed:
		draw := func() value { return s.draw(t, d) }
		if t, ok := t.(*arrow.Decimal128Type); ok && d == Wild {
			draw = s.decimals(t)
		}
		p.Buffers = append(p.Buffers, s.fixed(t, n, valid, draw))
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		p.Buffers = append(p.Buffers, s.texts(t, n, layout == memory.LayoutLargeBinary, d)...)
	case memory.LayoutList, memory.LayoutLargeList:
		lengths := make([]int64, n)
		for i := range lengths {
			lengths[i] = int64(s.Rand.IntN(4))
		}
		offsets, sum := s.offsets(lengths, layout == memory.LayoutLargeList)
		p.Buffers = append(p.Buffers, offsets)
		p.Children = []*memory.Column{s.child(t.(arrow.ListLikeType).Elem(), sum, d)}
	case memory.LayoutStruct:
		for _, f := range t.(*arrow.StructType).Fields() {
			p.Children = append(p.Children, s.child(f.Type, n, d))
		}
	case memory.LayoutDictionary:
		size := 1 + s.Rand.IntN(20)
		p.Buffers = append(p.Buffers, s.fixed(t, n, valid, func() value { return value{uint64(s.Rand.IntN(size))} }))
		nulls := NoBitmap
		if s.Rand.IntN(4) == 0 {
			nulls = Tenth // a null may be said by way of the dictionary too
		}
		p.Dictionary = s.build(t.(*arrow.DictionaryType).ValueType, int64(size), nulls, d)
	}
	c, err := memory.NewColumn(p)
	s.must(err)
	return c
}

// child makes a column of n values or a few more that is a window itself.
func (s *Suite) child(t arrow.DataType, n int64, d Domain) *memory.Column {
	offset := int64(s.Rand.IntN(4))
	whole := s.build(t, offset+n+int64(s.Rand.IntN(3)), s.DrawPattern(), d)
	defer whole.Release()
	c, err := whole.Slice(offset, whole.Len()-offset)
	s.must(err)
	return c
}

// allocator draws one for an argument: its blocks lie against unmapped memory
// at their one end or at the other.
func (s *Suite) allocator() memory.Allocator { return s.inputs[s.Rand.IntN(len(s.inputs))] }

func (s *Suite) buffer(n int64) *memory.Buffer {
	b, err := memory.New(s.allocator(), n)
	s.must(err)
	return b
}

func (s *Suite) validity(n int64, p Pattern) *memory.Buffer {
	if p == NoBitmap {
		return nil
	}
	b := s.buffer(memory.BitmapBytes(n))
	bits := memory.Bitmap(b.Bytes())
	run, state := 0, false
	for i := range n {
		v := true
		switch p {
		case AllNull:
			v = false
		case Alternating:
			v = i&1 == 0
		case Tenth:
			v = s.Rand.IntN(10) != 0
		case Half:
			v = s.Rand.IntN(2) != 0
		case Runs:
			if run--; run < 0 {
				run, state = s.Rand.IntN(100), !state
			}
			v = state
		}
		bits.Put(i, v)
	}
	return b
}

// fixed makes a buffer of n values; under nulls it puts random bytes.
func (s *Suite) fixed(t arrow.DataType, n int64, valid memory.Bitmap, draw func() value) *memory.Buffer {
	width := int64(memory.Width(t))
	b := s.buffer(n * width)
	for i := range n {
		v := value{s.Rand.Uint64(), s.Rand.Uint64()}
		if valid == nil || valid.Get(i) {
			v = draw()
		}
		v.write(b.Bytes()[i*width : (i+1)*width])
	}
	return b
}

func (s *Suite) offsets(lengths []int64, large bool) (*memory.Buffer, int64) {
	width := 4
	if large {
		width = 8
	}
	b := s.buffer(int64(width * (len(lengths) + 1)))
	at := int64(s.Rand.IntN(5)) // the first offset need not be 0
	for i := range len(lengths) + 1 {
		value{uint64(at)}.write(b.Bytes()[i*width : (i+1)*width])
		if i < len(lengths) {
			at += lengths[i]
		}
	}
	return b, at
}

func (s *Suite) texts(t arrow.DataType, n int64, large bool, d Domain) []*memory.Buffer {
	values, lengths := make([]string, n), make([]int64, n)
	for i := range values {
		values[i] = s.drawText(t, d)
		lengths[i] = int64(len(values[i]))
	}
	offsets, sum := s.offsets(lengths, large)
	data := s.buffer(sum)
	rest := data.Bytes()
	for i := range lengths {
		sum -= lengths[i]
	}
	guard.Fill(rest[:sum], '?')
	rest = rest[sum:]
	for _, v := range values {
		rest = rest[copy(rest, v):]
	}
	return []*memory.Buffer{offsets, data}
}
