package filemeta

import "encoding/binary"

// FlatWalk walks the FlatBuffers tables that Arrow IPC describes schemas and
// batches by, before the decoder does: counts must fit the bytes, and tables
// may not nest without end. The decoder allocates by these counts and recurses
// by these offsets. https://flatbuffers.dev/internals/
type FlatWalk struct {
	b      []byte
	tables int  // that may still be visited
	Bad    bool // something does not fit the bytes; what was read since is 0
}

// flatDepth is how far fields may nest; arrow-go itself takes 64.
const flatDepth = 64

// NewFlatWalk begins a walk over b, whose root table is at U32(0).
func NewFlatWalk(b []byte) *FlatWalk { return &FlatWalk{b: b, tables: len(b)} }

// has reports whether n bytes lie at p.
func (w *FlatWalk) has(p, n int64) bool {
	if p < 0 || n < 0 || n > int64(len(w.b)) || p > int64(len(w.b))-n {
		w.Bad = true
	}
	return !w.Bad
}

// U8 is the byte at p.
func (w *FlatWalk) U8(p int64) int64 {
	if !w.has(p, 1) {
		return 0
	}
	return int64(w.b[p])
}

func (w *FlatWalk) u16(p int64) int64 {
	if !w.has(p, 2) {
		return 0
	}
	return int64(binary.LittleEndian.Uint16(w.b[p:]))
}

// U32 is the uint32 at p.
func (w *FlatWalk) U32(p int64) int64 {
	if !w.has(p, 4) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(w.b[p:]))
}

// I64 is the int64 at p.
func (w *FlatWalk) I64(p int64) int64 {
	if !w.has(p, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(w.b[p:]))
}

// Follow is the place that the offset at p points to.
func (w *FlatWalk) Follow(p int64) int64 { return p + w.U32(p) }

// Field is where field id of a table is, or 0 where it is left out.
func (w *FlatWalk) Field(table, id int64) int64 {
	vtable := table - int64(int32(w.U32(table)))
	size := w.u16(vtable)
	if slot := 4 + 2*id; !w.Bad && slot+2 <= size {
		if off := w.u16(vtable + slot); off != 0 {
			return table + off
		}
	}
	return 0
}

// Vector is the elements of a vector field, each size bytes; none where the
// field is left out.
func (w *FlatWalk) Vector(table, id, size int64) (start, n int64) {
	at := w.Field(table, id)
	if at == 0 {
		return 0, 0
	}
	v := w.Follow(at)
	n = w.U32(v)
	if !w.has(v+4, n*size) {
		return 0, 0
	}
	return v + 4, n
}

// schema walks a Schema table.
func (w *FlatWalk) schema(table int64) {
	w.each(table, 1, func(field int64) { w.schemaField(field, 0) })
	w.each(table, 2, func(int64) {})
}

func (w *FlatWalk) schemaField(table int64, depth int) {
	if depth >= flatDepth {
		w.Bad = true
		return
	}
	w.each(table, 5, func(child int64) { w.schemaField(child, depth+1) })
	w.each(table, 6, func(int64) {})
}

// each visits the tables of a vector field.
func (w *FlatWalk) each(table, id int64, visit func(int64)) {
	start, n := w.Vector(table, id, 4)
	for i := int64(0); i < n && !w.Bad; i++ {
		if w.tables--; w.tables < 0 {
			w.Bad = true
			return
		}
		visit(w.Follow(start + 4*i))
	}
}

// The kinds of message.
const (
	KindSchema     = 1
	KindDictionary = 2
	KindBatch      = 3
)

// CheckMessage walks a Message and gives its kind and the length of its body.
func CheckMessage(b []byte) (kind, body int64, ok bool) {
	w := NewFlatWalk(b)
	table := w.U32(0)
	if at := w.Field(table, 1); at != 0 {
		kind = w.U8(at)
	}
	if at := w.Field(table, 3); at != 0 {
		body = w.I64(at)
	}
	w.each(table, 4, func(int64) {})
	header := w.Field(table, 2)
	if header == 0 {
		return 0, 0, false
	}
	if kind == KindSchema {
		w.schema(w.Follow(header))
	}
	return kind, body, !w.Bad && body >= 0
}

// Block is where a message of an IPC file is.
type Block struct{ Offset, Meta, Body int64 }

// Footer is what a footer says.
type Footer struct {
	Dictionaries, Batches []Block
	Schema                []byte // as a message
}

// CheckFooter walks a Footer.
func CheckFooter(b []byte) (f Footer, ok bool) {
	w := NewFlatWalk(b)
	table := w.U32(0)
	schema := int64(0)
	if at := w.Field(table, 1); at != 0 {
		schema = w.Follow(at)
		w.schema(schema)
	}
	if schema == 0 {
		return f, false
	}
	version := int64(0)
	if at := w.Field(table, 0); at != 0 {
		version = w.u16(at)
	}
	blocks := func(id int64) (all []Block) {
		start, n := w.Vector(table, id, 24)
		for i := int64(0); i < n && !w.Bad; i++ {
			p := start + 24*i
			all = append(all, Block{w.I64(p), int64(int32(w.U32(p + 8))), w.I64(p + 16)})
		}
		return all
	}
	f.Dictionaries, f.Batches = blocks(2), blocks(3)
	w.each(table, 4, func(int64) {})
	f.Schema = schemaMessage(b, schema, version)
	return f, !w.Bad
}

// schemaMessage is the message of a Schema that lies somewhere in b.
func schemaMessage(b []byte, schema, version int64) []byte {
	const head, vtable, table = 64, 8, 24
	m := make([]byte, head, head+len(b))
	binary.LittleEndian.PutUint32(m, table)
	for i, v := range []uint16{12, 16, 4, 6, 8, 0} { // sizes of both, and where version, kind, header and length of the body are
		binary.LittleEndian.PutUint16(m[vtable+2*i:], v)
	}
	binary.LittleEndian.PutUint32(m[table:], table-vtable)
	binary.LittleEndian.PutUint16(m[table+4:], uint16(version))
	m[table+6] = KindSchema
	binary.LittleEndian.PutUint32(m[table+8:], uint32(head+schema-(table+8)))
	return append(m, b...)
}
