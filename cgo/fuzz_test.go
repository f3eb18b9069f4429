//go:build cgo

package main

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/memory"
)

// The types of C that cgo made for this package, under the names that it gave them: files of tests cannot import C themselves.
type (
	cArray   = _Ctype_struct_ArrowArray
	cSchema  = _Ctype_struct_ArrowSchema
	cOptions = _Ctype_struct_volley_import_options
)

var fuzzTypes = []arrow.DataType{
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Boolean,
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.StringView, arrow.Null,
	&arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.LargeListOf(arrow.BinaryTypes.String),
	arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}),
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	arrow.ListOf(arrow.StructOf(arrow.Field{Name: "x", Type: arrow.FixedWidthTypes.Boolean, Nullable: true})),
	arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8), arrow.FixedWidthTypes.MonthInterval,
}

// builder makes arrays that are wrong in ways that whoever imports them can find out: what a length, a pointer or the last offset says of the
// memory behind it is true. Every buffer ends where memory that is not mapped begins.
type builder struct {
	t    *testing.T
	mem  *guard.Allocator
	free []memory.Block
	data []byte // decides everything
}

func (b *builder) byte() int64 {
	if len(b.data) == 0 {
		return 0
	}
	v := b.data[0]
	b.data = b.data[1:]
	return int64(v)
}

// seldom is true once in n times, and never when there is nothing left to decide by.
func (b *builder) seldom(n int64) bool { return b.byte()%n == n-1 }

func (b *builder) bytes(n int64) []byte {
	block, err := b.mem.Allocate(n)
	if err != nil {
		b.t.Fatal(err)
	}
	b.free = append(b.free, block)
	for i := range block.Bytes {
		block.Bytes[i] = byte(b.byte())
	}
	return block.Bytes
}

func pointerTo(p []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(p)) }

// array fills an array of a type.
func (b *builder) array(p *cArray, t arrow.DataType, least int64) {
	views := t.ID() == arrow.STRING_VIEW
	layout := memory.LayoutOf(t)
	buffers := bufferCounts[layout]
	if views {
		buffers = 4
	}
	fields, dictionary := fieldsOf(t), _Ctype_int(0)
	if t.ID() == arrow.DICTIONARY {
		dictionary = 1
	}
	if _Cfunc_vly_fill_array(p, _Ctype_int64_t(buffers), _Ctype_int64_t(len(fields)), dictionary, register(&exported{release: func() {}})) == 0 {
		b.t.Fatal("out of memory")
	}
	length, offset := max(least, b.byte()%40), b.byte()%9
	end := length + offset
	p.length, p.offset, p.null_count = _Ctype_int64_t(length), _Ctype_int64_t(offset), -1
	list := unsafe.Slice(p.buffers, max(buffers, 1))
	if buffers > 0 && b.seldom(2) {
		list[0] = pointerTo(b.bytes(memory.BitmapBytes(end)))
	}
	child := int64(0)
	switch {
	case views:
		list[1], list[2], list[3] = pointerTo(b.bytes(16*end)), pointerTo(b.bytes(20)), pointerTo(binary.NativeEndian.AppendUint64(b.bytes(8)[:0], 20))
	case layout == memory.LayoutBits:
		list[1] = pointerTo(b.bytes(memory.BitmapBytes(end)))
	case layout == memory.LayoutFixed || layout == memory.LayoutDictionary:
		list[1] = pointerTo(b.bytes(end * int64(memory.Width(t))))
	case layout == memory.LayoutBinary || layout == memory.LayoutList:
		list[1], child = b.offsets(end, 4)
	case layout == memory.LayoutLargeBinary || layout == memory.LayoutLargeList:
		list[1], child = b.offsets(end, 8)
	case layout == memory.LayoutStruct:
		child = end
	}
	if layout == memory.LayoutBinary || layout == memory.LayoutLargeBinary {
		list[2] = pointerTo(b.bytes(child))
	}
	if b.seldom(16) && child > 0 {
		child-- // an item less than the last offset says, a row less than the struct has
	}
	for i, c := range unsafe.Slice(p.children, len(fields)) {
		b.array(c, fields[i].Type, child)
	}
	if dictionary == 1 {
		b.array(p.dictionary, t.(*arrow.DictionaryType).ValueType, 0)
	}
	b.spoil(p, list[:buffers])
}

// offsets are those of end values, and how much the last of them says there is: rising ones, or anything.
func (b *builder) offsets(end, width int64) (unsafe.Pointer, int64) {
	buffer, at := b.bytes((end+1)*width), int64(0)
	put := func(i, v int64) {
		if width == 4 {
			binary.NativeEndian.PutUint32(buffer[4*i:], uint32(v))
		} else {
			binary.NativeEndian.PutUint64(buffer[8*i:], uint64(v))
		}
	}
	wild := b.seldom(4)
	for i := range end + 1 {
		if !wild || i == end {
			put(i, at)
		}
		at += b.byte() % 4
	}
	last := int64(offsetAt(memory.Wrap(buffer, nil), width, end))
	return pointerTo(buffer), last
}

// spoil makes something wrong, seldom.
func (b *builder) spoil(p *cArray, list []unsafe.Pointer) {
	if !b.seldom(4) {
		return
	}
	wild := []_Ctype_int64_t{-1, -2, 1, 3, 1 << 31, 1 << 40, 1<<62 + 1, 1<<63 - 1, -1 << 63}
	v := wild[b.byte()%int64(len(wild))]
	switch b.byte() % 6 {
	case 0:
		p.length = min(v, 0) // a length that is too large is a lie that nobody can find out
	case 1:
		if v < 0 || v > 1<<60 {
			p.offset = v
		}
	case 2:
		p.null_count = v
	case 3:
		p.n_buffers = v
	case 4:
		p.buffers = nil
	case 5:
		if len(list) > 0 {
			list[b.byte()%int64(len(list))] = nil
		}
	}
}

// importFuzzed imports what data describes, and holds the library to what it promises of any input: no internal error, every structure released
// once, nothing read that is not there, and at the full level nothing accepted that is wrong inside.
func importFuzzed(t *testing.T, data []byte) (status int32) {
	b := &builder{t: t, mem: guard.New(guard.Tail), data: data}
	before := len(live.all)
	kind := fuzzTypes[b.byte()%int64(len(fuzzTypes))]
	options := cOptions{size: _Ctype_uint64_t(unsafe.Sizeof(cOptions{})), validate: _Ctype_int64_t(b.byte() % 3)}
	array := (*cArray)(_Cfunc_calloc(1, _Ctype_size_t(unsafe.Sizeof(cArray{}))))
	schema := (*cSchema)(_Cfunc_calloc(1, _Ctype_size_t(unsafe.Sizeof(cSchema{}))))
	defer _Cfunc_free(unsafe.Pointer(array))
	defer _Cfunc_free(unsafe.Pointer(schema))
	b.array(array, kind, 0)
	declared := kind
	if b.seldom(8) {
		declared = fuzzTypes[b.byte()%int64(len(fuzzTypes))]
	}
	exportField(arrow.Field{Name: "c", Type: declared, Nullable: true}, schema)
	same := declared == kind
	if b.seldom(16) {
		if format := (*byte)(unsafe.Pointer(schema.format)); *format != 0 {
			*format, same = byte(b.byte()), false
		}
	}
	if !same && options.validate != 2 {
		options.validate = 2 // at the others the caller vouches for the contents
	}
	if !same { // what another type would read there need not be: only what is refused before is of use
		array.length, array.offset = 0, 0
	}
	var h _Ctype_uintptr_t
	status = int32(go_volley_column_import(array, schema, &options, &h))
	if status == -12 {
		t.Fatal("an internal error")
	}
	if array.release != nil || schema.release != nil {
		t.Fatal("a structure was not moved")
	}
	if status == 0 {
		if options.validate == 2 {
			readAll(t, h)
		}
		if go_volley_column_free(h) != 0 {
			t.Fatal("the column could not be freed")
		}
	}
	if now := len(live.all); now != before {
		t.Fatalf("%d structures were not released", now-before)
	}
	for _, block := range b.free {
		b.mem.Free(block)
	}
	if err := b.mem.Close(); err != nil {
		t.Fatal(err)
	}
	return status
}

// readAll reads every value of a column that was checked in full, by way of arrow-go.
func readAll(t *testing.T, h _Ctype_uintptr_t) {
	o, err := find[*columnObject]("column", h)
	if err != nil {
		t.Fatal(err)
	}
	defer o.drop()
	if err := o.c.Validate(); err != nil {
		t.Fatalf("accepted in full, and yet: %v", err)
	}
	a, err := memory.ToArrow(o.c)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Release()
	for i := range a.Len() {
		_ = a.ValueStr(i)
	}
}

func FuzzImport(f *testing.F) {
	for i := range fuzzTypes {
		f.Add([]byte{byte(i), 2, 5, 3, 1, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	}
	f.Fuzz(func(t *testing.T, data []byte) { importFuzzed(t, data) })
}

// TestImportOfRandomStructures is the fuzz target with random inputs, the same ones every time: some are imported, some refused.
func TestImportOfRandomStructures(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 41))
	found := map[bool]int{}
	for range 4000 {
		data := make([]byte, 30+r.IntN(600))
		for i := range data {
			data[i] = byte(r.Uint32())
			if r.IntN(3) == 0 {
				data[i] &= 3 // so that seldom things are seldom
			}
		}
		found[importFuzzed(t, data) == 0]++
	}
	t.Logf("imported %d, refused %d", found[true], found[false])
	if found[true] < 400 || found[false] < 400 {
		t.Errorf("imported %d, refused %d: the inputs do not try both", found[true], found[false])
	}
}
