package storage

import "encoding/binary"

// flatWalk walks the FlatBuffers tables that Arrow IPC describes schemas and
// batches by, before the decoder does: counts must fit the bytes, and tables
// may not nest without end. The decoder allocates by these counts and recurses
// by these offsets. https://flatbuffers.dev/internals/
type flatWalk struct {
	b      []byte
	tables int // that may still be visited
	bad    bool
}

// flatDepth is how far fields may nest; arrow-go itself takes 64.
const flatDepth = 64

func newFlatWalk(b []byte) *flatWalk { return &flatWalk{b: b, tables: len(b)} }

// has reports whether n bytes lie at p.
func (w *flatWalk) has(p, n int64) bool {
	if p < 0 || n < 0 || n > int64(len(w.b)) || p > int64(len(w.b))-n {
		w.bad = true
	}
	return !w.bad
}

func (w *flatWalk) u8(p int64) int64 {
	if !w.has(p, 1) {
		return 0
	}
	return int64(w.b[p])
}

func (w *flatWalk) u16(p int64) int64 {
	if !w.has(p, 2) {
		return 0
	}
	return int64(binary.LittleEndian.Uint16(w.b[p:]))
}

func (w *flatWalk) u32(p int64) int64 {
	if !w.has(p, 4) {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(w.b[p:]))
}

func (w *flatWalk) i64(p int64) int64 {
	if !w.has(p, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(w.b[p:]))
}

// follow is the place that the offset at p points to.
func (w *flatWalk) follow(p int64) int64 { return p + w.u32(p) }

// field is where field id of a table is, or 0 where it is left out.
func (w *flatWalk) field(table, id int64) int64 {
	vtable := table - int64(int32(w.u32(table)))
	size := w.u16(vtable)
	if slot := 4 + 2*id; !w.bad && slot+2 <= size {
		if off := w.u16(vtable + slot); off != 0 {
			return table + off
		}
	}
	return 0
}

// vector is the elements of a vector field, each size bytes; none where the
// field is left out.
func (w *flatWalk) vector(table, id, size int64) (start, n int64) {
	at := w.field(table, id)
	if at == 0 {
		return 0, 0
	}
	v := w.follow(at)
	n = w.u32(v)
	if !w.has(v+4, n*size) {
		return 0, 0
	}
	return v + 4, n
}

// schema walks a Schema table.
func (w *flatWalk) schema(table int64) {
	w.each(table, 1, func(field int64) { w.schemaField(field, 0) })
	w.each(table, 2, func(int64) {})
}

func (w *flatWalk) schemaField(table int64, depth int) {
	if depth >= flatDepth {
		w.bad = true
		return
	}
	w.each(table, 5, func(child int64) { w.schemaField(child, depth+1) })
	w.each(table, 6, func(int64) {})
}

// each visits the tables of a vector field.
func (w *flatWalk) each(table, id int64, visit func(int64)) {
	start, n := w.vector(table, id, 4)
	for i := int64(0); i < n && !w.bad; i++ {
		if w.tables--; w.tables < 0 {
			w.bad = true
			return
		}
		visit(w.follow(start + 4*i))
	}
}

// The kinds of message.
const (
	ipcSchema     = 1
	ipcDictionary = 2
	ipcBatch      = 3
)

// checkMessage walks a Message and gives its kind and the length of its body.
func checkMessage(b []byte) (kind, body int64, ok bool) {
	w := newFlatWalk(b)
	table := w.u32(0)
	if at := w.field(table, 1); at != 0 {
		kind = w.u8(at)
	}
	if at := w.field(table, 3); at != 0 {
		body = w.i64(at)
	}
	w.each(table, 4, func(int64) {})
	header := w.field(table, 2)
	if header == 0 {
		return 0, 0, false
	}
	if kind == ipcSchema {
		w.schema(w.follow(header))
	}
	return kind, body, !w.bad && body >= 0
}

// ipcBlock is where a message of an IPC file is.
type ipcBlock struct{ offset, meta, body int64 }

// ipcFooterParts is what a footer says.
type ipcFooterParts struct {
	dictionaries, batches []ipcBlock
	schema                []byte // as a message
}

// checkFooter walks a Footer.
func checkFooter(b []byte) (f ipcFooterParts, ok bool) {
	w := newFlatWalk(b)
	table := w.u32(0)
	schema := int64(0)
	if at := w.field(table, 1); at != 0 {
		schema = w.follow(at)
		w.schema(schema)
	}
	if schema == 0 {
		return f, false
	}
	version := int64(0)
	if at := w.field(table, 0); at != 0 {
		version = w.u16(at)
	}
	blocks := func(id int64) (all []ipcBlock) {
		start, n := w.vector(table, id, 24)
		for i := int64(0); i < n && !w.bad; i++ {
			p := start + 24*i
			all = append(all, ipcBlock{w.i64(p), int64(int32(w.u32(p + 8))), w.i64(p + 16)})
		}
		return all
	}
	f.dictionaries, f.batches = blocks(2), blocks(3)
	w.each(table, 4, func(int64) {})
	f.schema = schemaMessage(b, schema, version)
	return f, !w.bad
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
	m[table+6] = ipcSchema
	binary.LittleEndian.PutUint32(m[table+8:], uint32(head+schema-(table+8)))
	return append(m, b...)
}
