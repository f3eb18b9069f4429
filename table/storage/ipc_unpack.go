package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/table/storage/internal/filemeta"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// What the bytes of a compressed message may become where IPCReadOptions says
// nothing: the usual ratio is below 20, and the formats allow 32,000.
const (
	unpackFloor = 256 << 20
	unpackRatio = 1024
)

// ipcBuffer is a buffer in the body of a message.
type ipcBuffer struct {
	at           int64 // of its description in the metadata
	offset, size int64
	unpacked     int64 // as it announces, where it is compressed; else -1
}

// ipcNode is a column in a message.
type ipcNode struct{ rows, nulls int64 }

// ipcBody is what a batch's or dictionary's metadata says of its body.
type ipcBody struct {
	rows       int64
	nodes      []ipcNode
	buffers    []ipcBuffer
	views      []int64 // how many buffers of values each column of views has
	compressed bool
	codec      int64
	full       []int // of check: numbers of buffers that are bitmaps of columns without nulls
	fullRows   []int64
	id         int64 // of a dictionary
	delta      bool  // of a dictionary: appended to the one before
}

// bodyOf walks the metadata of a record batch or dictionary, which filemeta.CheckMessage
// has seen, before arrow-go does: what it says must lie in a body of that size.
func bodyOf(meta []byte, kind, size int64) (b ipcBody, err error) {
	w := filemeta.NewFlatWalk(meta)
	batch := w.Follow(w.Field(w.U32(0), 2))
	if kind == filemeta.KindDictionary {
		if at := w.Field(batch, 0); at != 0 {
			b.id = w.I64(at)
		}
		if at := w.Field(batch, 2); at != 0 {
			b.delta = w.U8(at) != 0
		}
		at := w.Field(batch, 1)
		if at == 0 {
			return b, fmt.Errorf("a dictionary without values")
		}
		batch = w.Follow(at)
	}
	if at := w.Field(batch, 0); at != 0 {
		if b.rows = w.I64(at); b.rows < 0 {
			return b, fmt.Errorf("it has %d rows", b.rows)
		}
	}
	nodes, n := w.Vector(batch, 1, 16)
	for i := int64(0); i < n && !w.Bad; i++ {
		one := ipcNode{w.I64(nodes + 16*i), w.I64(nodes + 16*i + 8)}
		if !w.Bad && (one.rows < 0 || one.nulls < -1 || one.nulls > one.rows) {
			return b, fmt.Errorf("column node %d has %d rows, %d of them null", i, one.rows, one.nulls)
		}
		b.nodes = append(b.nodes, one)
	}
	views, n := w.Vector(batch, 4, 8)
	for i := int64(0); i < n && !w.Bad; i++ {
		b.views = append(b.views, w.I64(views+8*i))
	}
	start, n := w.Vector(batch, 2, 16)
	for i := int64(0); i < n && !w.Bad; i++ {
		one := ipcBuffer{at: start + 16*i, offset: w.I64(start + 16*i), size: w.I64(start + 16*i + 8), unpacked: -1}
		if one.offset < 0 || one.size < 0 || one.offset > size || one.size > size-one.offset {
			return b, fmt.Errorf("buffer %d is %d bytes at offset %d of a body of %d", i, one.size, one.offset, size)
		}
		b.buffers = append(b.buffers, one)
	}
	if at := w.Field(batch, 3); at != 0 {
		b.compressed = true
		compression := w.Follow(at)
		if at := w.Field(compression, 0); at != 0 {
			b.codec = w.U8(at)
		}
		if at := w.Field(compression, 1); at != 0 && w.U8(at) != 0 && !w.Bad {
			return b, fmt.Errorf("%w: compression by another method than buffer by buffer", device.ErrUnsupported)
		}
		if b.codec != ipcLZ4 && b.codec != ipcZstd && !w.Bad {
			return b, fmt.Errorf("%w: compression by codec %d", device.ErrUnsupported, b.codec)
		}
	}
	if w.Bad {
		return b, fmt.Errorf("its metadata is damaged")
	}
	return b, nil
}

// check holds what a batch says against the columns that it should have.
func (b *ipcBody) check(types []arrow.DataType) error {
	c := ipcColumns{body: b}
	for i, t := range types {
		if node := c.node; node < len(b.nodes) && b.nodes[node].rows != b.rows {
			return fmt.Errorf("column %d has %d rows, the batch %d", i+1, b.nodes[node].rows, b.rows)
		}
		if err := c.column(t); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	if c.node != len(b.nodes) || c.buffer != len(b.buffers) {
		return fmt.Errorf("it has %d column nodes and %d buffers, its columns %d and %d", len(b.nodes), len(b.buffers), c.node, c.buffer)
	}
	return nil
}

// checkFull looks that bitmaps of columns that say they have no nulls say so too: with
// such a number a reader does not look at them. body is the unpacked one.
func (b *ipcBody) checkFull(body []byte) error {
	for i, k := range b.full {
		one := b.buffers[k]
		bits := memory.Bitmap(body[one.offset : one.offset+one.size])
		if b.compressed {
			bits = bits[prefix:]
		}
		if rows := b.fullRows[i]; rows > 8*int64(len(bits)) || bits.Count(0, rows) != rows {
			return fmt.Errorf("buffer %d: nulls in a column that has none by its metadata", k)
		}
	}
	return nil
}

// ends looks that a body ends where its last buffer does, but for what pads it: in a stream
// nothing else tells a damaged size, behind which messages would be passed over.
func (b *ipcBody) ends(size int64) error {
	end := int64(0)
	for _, one := range b.buffers {
		end = max(end, one.offset+one.size)
	}
	for _, line := range []int64{1, 8, 16, 32, 64} {
		if size == (end+line-1)/line*line {
			return nil
		}
	}
	return fmt.Errorf("a body of %d bytes, of which the last buffer ends at %d", size, end)
}

// ipcColumns walks nodes and buffers as columns take them.
type ipcColumns struct {
	body               *ipcBody
	node, buffer, view int
}

func (c *ipcColumns) column(t arrow.DataType) error {
	if e, is := t.(arrow.ExtensionType); is {
		return c.column(e.StorageType())
	}
	if c.node >= len(c.body.nodes) {
		return fmt.Errorf("there are %d column nodes, which are too few", len(c.body.nodes))
	}
	node := c.body.nodes[c.node]
	c.node++
	buffers, nullable := buffersOf(t)
	if memory.IsView(t) {
		if c.view >= len(c.body.views) || c.body.views[c.view] < 0 || c.body.views[c.view] > int64(len(c.body.buffers)) {
			return fmt.Errorf("it does not say how many buffers its views have")
		}
		buffers += int(c.body.views[c.view])
		c.view++
	}
	if buffers > len(c.body.buffers)-c.buffer {
		return fmt.Errorf("there are %d buffers, which are too few", len(c.body.buffers))
	}
	switch {
	case !nullable:
	case node.nulls > 0 && c.body.buffers[c.buffer].size == 0:
		return fmt.Errorf("it has %d nulls and no bitmap that says which", node.nulls)
	case node.nulls == 0 && c.body.buffers[c.buffer].size > 0:
		c.body.full, c.body.fullRows = append(c.body.full, c.buffer), append(c.body.fullRows, node.rows)
	}
	c.buffer += buffers
	if nested, is := t.(arrow.NestedType); is {
		for _, f := range nested.Fields() {
			if err := c.column(f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// buffersOf is how many buffers a column of a type has without its children, and
// whether the first is a bitmap of nulls.
func buffersOf(t arrow.DataType) (n int, nullable bool) {
	switch t.ID() {
	case arrow.NULL, arrow.RUN_END_ENCODED:
		return 0, false
	case arrow.SPARSE_UNION:
		return 1, false
	case arrow.DENSE_UNION:
		return 2, false
	case arrow.STRUCT, arrow.FIXED_SIZE_LIST:
		return 1, true
	case arrow.BINARY, arrow.STRING, arrow.LARGE_BINARY, arrow.LARGE_STRING, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW:
		return 3, true
	}
	return 2, true
}

// unpacker decompresses the buffers of messages itself: arrow-go does not read
// the checksums of frames, and allocates what a buffer announces before any of it
// is there.
type unpacker struct {
	ctx  context.Context
	from *arena
	most int64 // bytes of one message; 0 is by the size of its compressed bytes
}

// unpack gives the body of a message uncompressed, and changes its metadata for
// that: each buffer is marked as one that was not worth compressing, which the
// format has. A body that is not compressed stays as it is.
func (u unpacker) unpack(meta []byte, b *ipcBody, body *arrowmem.Buffer) (*arrowmem.Buffer, error) {
	if !b.compressed {
		if err := b.checkFull(body.Bytes()); err != nil {
			return nil, err
		}
		body.Retain()
		return body, nil
	}
	packed := body.Bytes()
	total, room, err := u.plan(b, packed)
	if err != nil {
		return nil, err
	}
	out := &growing{u.from, u.from.give(room), 0, total}
	for i := range b.buffers {
		one := &b.buffers[i]
		if one.size == 0 {
			continue
		}
		if err := u.buffer(out, b.codec, one, packed[one.offset:one.offset+one.size]); err != nil {
			u.from.Free(out.b)
			return nil, fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if err := b.checkFull(out.b); err != nil {
		u.from.Free(out.b)
		return nil, err
	}
	for _, one := range b.buffers {
		binary.LittleEndian.PutUint64(meta[one.at:], uint64(one.offset))
		binary.LittleEndian.PutUint64(meta[one.at+8:], uint64(one.size))
	}
	return arrowmem.NewBufferWithAllocator(out.b, u.from), nil
}

// prefix is what stands in front of a buffer that is not compressed in a message
// that is.
const prefix = 8

// slot is the room of a buffer of n bytes: its prefix ends where a line of the
// cache does.
func slot(n int64) int64 { return 64 + (n+63)/64*64 }

// plan reads what the buffers announce, and gives the size of the body and how much
// of it to allocate for the time being.
func (u unpacker) plan(b *ipcBody, packed []byte) (total, room int64, err error) {
	sum := int64(0)
	for i := range b.buffers {
		one := &b.buffers[i]
		if one.size == 0 {
			continue
		}
		if one.size < prefix {
			return 0, 0, fmt.Errorf("buffer %d: %d bytes are too few for a compressed one", i, one.size)
		}
		n := int64(binary.LittleEndian.Uint64(packed[one.offset:]))
		likely := one.size - prefix
		if n != -1 {
			if n < 0 {
				return 0, 0, fmt.Errorf("buffer %d: it announces %d bytes", i, n)
			}
			one.unpacked, likely = n, min(n, max(64<<10, 64*one.size))
		} else {
			n = likely
		}
		if sum += min(n, 1<<60); sum > 0 {
			err = u.bound(int64(len(packed)), sum)
		}
		if err != nil {
			return 0, 0, err
		}
		total, room = total+slot(n), room+slot(likely)
	}
	return total, room, nil
}

// bound refuses a message that announces more than it may become.
func (u unpacker) bound(packed, unpacked int64) error {
	most := u.most
	if most <= 0 {
		most = max(unpackFloor, unpackRatio*packed)
	}
	most = min(most, 1<<46) // of which sums cannot overflow
	if unpacked > most {
		return fmt.Errorf("%w: its %d compressed bytes announce %d or more, above the %d that one batch may have: allow more if that is right (MaxUnpacked of IPCReadOptions; max_unpacked in Python and C)",
			device.ErrOutOfMemory, packed, unpacked, most)
	}
	return nil
}

// buffer puts one buffer behind those before, and notes its new place.
func (u unpacker) buffer(out *growing, codec int64, one *ipcBuffer, packed []byte) error {
	if err := u.ctx.Err(); err != nil {
		return context.Cause(u.ctx)
	}
	n := one.unpacked
	if n < 0 {
		n = one.size - prefix
	}
	at := out.used + 64
	one.offset, one.size = at-prefix, n+prefix
	whole := one.unpacked < 0 || n <= readStep
	if out.reach(at); whole {
		out.reach(at + n)
	}
	binary.LittleEndian.PutUint64(out.b[at-prefix:], math.MaxUint64)
	out.used += slot(n)
	switch {
	case one.unpacked < 0:
		copy(out.b[at:at+n], packed[prefix:])
		return nil
	case whole:
		return unpackWhole(codec, packed[prefix:], out.b[at:at+n:at+n])
	}
	return unpackStream(u.ctx, codec, packed[prefix:], n, func(from, k int64) []byte {
		out.reach(at + from + k)
		return out.b[at+from : at+from+k]
	})
}

// growing is a body as it grows.
type growing struct {
	from  *arena
	b     []byte
	used  int64
	total int64 // what it is to be in the end
}

// reach makes it n bytes long at least.
func (g *growing) reach(n int64) {
	if n <= int64(len(g.b)) {
		return
	}
	grown := g.from.give(max(n, min(g.total, 2*int64(len(g.b)))))
	copy(grown, g.b)
	g.from.Free(g.b)
	g.b = grown
}
