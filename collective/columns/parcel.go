package columns

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// node is what a column, a child or a dictionary says of itself: as many int64 each.
type node struct {
	length, offset, nulls int64
	first                 int64    // the first of its offsets, which the receiver subtracts
	bytes                 [3]int64 // of its buffers; -1 for none
}

const nodeLen = 7

// metaLen is the length of a list's description: a word that says whether there is a
// list at all, and its nodes.
func metaLen(types []arrow.DataType) int {
	n := 1
	for _, t := range types {
		n += nodeLen * nodes(t)
	}
	return n
}

// nodes is how many a type has.
func nodes(t arrow.DataType) int {
	n := 1
	for _, c := range parts(t) {
		n += nodes(c)
	}
	return n
}

// parts are the types of a type's children, or of its dictionary.
func parts(t arrow.DataType) []arrow.DataType {
	switch memory.LayoutOf(t) {
	case memory.LayoutList, memory.LayoutLargeList:
		return []arrow.DataType{t.(arrow.ListLikeType).Elem()}
	case memory.LayoutStruct:
		var all []arrow.DataType
		for _, f := range t.(*arrow.StructType).Fields() {
			all = append(all, f.Type)
		}
		return all
	case memory.LayoutDictionary:
		return []arrow.DataType{t.(*arrow.DictionaryType).ValueType}
	}
	return nil
}

// parcel is a list of columns on its way.
type parcel struct {
	meta    []int64
	bytes   [][]byte         // of the buffers that are not empty, in order
	far     []nccl.Vector    // of those that go from GPU to GPU, in order
	buffers []*memory.Buffer // of a parcel that is received: all that are there
	held    []*memory.Column
	dicts   map[*memory.Column]int // of a parcel of several lists: where in meta the dictionaries are that it has
}

func (p *parcel) release() {
	if p == nil {
		return
	}
	for _, b := range p.buffers {
		b.Release()
	}
	Release(p.held)
	p.buffers, p.held = nil, nil
}

// pack describes columns; the bytes are the columns' own, or staged copies.
func (t *Comm) pack(ctx context.Context, types []arrow.DataType, cols []*memory.Column) (*parcel, error) {
	staged := map[*memory.Column]*memory.Column{}
	p, err := t.packOnce(ctx, types, cols, staged)
	for _, c := range staged {
		if err != nil {
			c.Release()
		} else {
			p.held = append(p.held, c)
		}
	}
	return p, err
}

// packOnce is pack with a memory of what was staged, which stays the caller's.
func (t *Comm) packOnce(ctx context.Context, types []arrow.DataType, cols []*memory.Column, staged map[*memory.Column]*memory.Column) (*parcel, error) {
	p := &parcel{meta: make([]int64, 1, metaLen(types))}
	if cols == nil {
		p.meta = p.meta[:cap(p.meta)]
		return p, nil
	}
	p.meta[0] = 1
	for _, c := range cols {
		if !c.Place().HostAccessible() {
			there := staged[c]
			if there == nil {
				var err error
				if there, err = device.Move(ctx, t.stream, t.dev.Pinned(), c); err != nil {
					return nil, err
				}
				staged[c] = there
			}
			c = there
		}
		if err := p.add(c); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add describes a column that the host can read.
func (p *parcel) add(c *memory.Column) error {
	if c.Len() == 0 {
		p.addEmpty(c.Type())
		return nil
	}
	layout := memory.LayoutOf(c.Type())
	from := c.Offset() &^ 7 // where a byte of the bitmaps begins
	to := c.Offset() + c.Len()
	n := node{length: c.Len(), offset: c.Offset() - from, nulls: c.NullCount(), bytes: [3]int64{-1, -1, -1}}
	var window [3][]byte
	if c.Buffer(0) != nil && n.nulls != 0 {
		window[0] = c.Buffer(0).Bytes()[from/8 : memory.BitmapBytes(to)]
	}
	childFrom, childTo := from, to
	switch layout {
	case memory.LayoutBits:
		window[1] = c.Buffer(1).Bytes()[from/8 : memory.BitmapBytes(to)]
	case memory.LayoutFixed, memory.LayoutDictionary:
		w := int64(memory.Width(c.Type()))
		window[1] = c.Buffer(1).Bytes()[from*w : to*w]
	case memory.LayoutBinary, memory.LayoutList:
		o := memory.View[int32](c.Buffer(1))
		window[1] = c.Buffer(1).Bytes()[from*4 : (to+1)*4]
		childFrom, childTo = int64(o[from]), int64(o[to])
	case memory.LayoutLargeBinary, memory.LayoutLargeList:
		o := memory.View[int64](c.Buffer(1))
		window[1] = c.Buffer(1).Bytes()[from*8 : (to+1)*8]
		childFrom, childTo = o[from], o[to]
	}
	switch layout {
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		n.first = childFrom
		if childTo > childFrom {
			window[2] = c.Buffer(2).Bytes()[childFrom:childTo]
		}
	case memory.LayoutList, memory.LayoutLargeList:
		n.first = childFrom
	}
	for i, b := range window {
		if b != nil {
			n.bytes[i] = int64(len(b))
			p.bytes = append(p.bytes, b)
		}
	}
	p.put(n)
	for i := range c.NumChildren() {
		child, err := c.Child(i).Slice(childFrom, childTo-childFrom)
		if err == nil {
			err = p.add(child)
			child.Release() // its buffers live as long as c
		}
		if err != nil {
			return err
		}
	}
	if c.Dictionary() != nil {
		return p.addDictionary(c.Dictionary())
	}
	return nil
}

// addDictionary describes a dictionary, of a parcel of several lists once: where it comes
// again its node has -1 minus the place of the first in meta for a length.
func (p *parcel) addDictionary(d *memory.Column) error { return p.dictionary(d, p.add) }

// dictionary is addDictionary, where add describes a dictionary that was not there before.
func (p *parcel) dictionary(d *memory.Column, add func(d *memory.Column) error) error {
	if p.dicts == nil {
		return add(d)
	}
	here := len(p.meta)
	if first, again := p.dicts[d]; again {
		p.addEmpty(d.Type())
		p.meta[here] = int64(-1 - first)
		return nil
	}
	p.dicts[d] = here
	return add(d)
}

func (p *parcel) put(n node) {
	p.meta = append(p.meta, n.length, n.offset, n.nulls, n.first, n.bytes[0], n.bytes[1], n.bytes[2])
}

func (p *parcel) addEmpty(t arrow.DataType) {
	p.put(node{bytes: [3]int64{-1, -1, -1}})
	for _, part := range parts(t) {
		p.addEmpty(part)
	}
}

// room makes buffers for what a description says.
func (t *Comm) room(types []arrow.DataType, meta []int64) (*parcel, error) {
	p := &parcel{meta: meta}
	if meta[0] == 0 {
		return p, nil
	}
	from := t.near()
	for at := 1; at < len(meta); at += nodeLen {
		for _, n := range meta[at+4 : at+nodeLen] {
			if n < 0 {
				continue
			}
			b, err := memory.New(from, n)
			if err != nil {
				p.release()
				return nil, err
			}
			p.buffers = append(p.buffers, b)
			p.bytes = append(p.bytes, b.Bytes())
		}
	}
	return p, nil
}

// unpack makes columns of a parcel that came, in the device's memory.
func (t *Comm) unpack(ctx context.Context, types []arrow.DataType, p *parcel) (_ []*memory.Column, err error) {
	if p.meta[0] == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", "receive", "a rank gave no columns where others did")
	}
	at, buffers := 1, p.buffers
	cols := make([]*memory.Column, 0, len(types))
	defer func() {
		if err != nil {
			Release(cols)
		}
	}()
	for _, typ := range types {
		c, err := column(typ, memory.Host, p.meta, &at, &buffers, nil)
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	if t.dev.Place().HostAccessible() {
		return cols, nil
	}
	there, err := t.own(ctx, cols)
	Release(cols)
	cols = nil
	return there, err
}

// column makes one, and its parts, of the next nodes and buffers, in a place where there are none. dicts, where it is not
// nil, are the dictionaries made so far, by the places of their nodes, with a reference that is the map's.
func column(typ arrow.DataType, place memory.Place, meta []int64, at *int, buffers *[]*memory.Buffer, dicts map[int]*memory.Column) (*memory.Column, error) {
	m := meta[*at : *at+nodeLen]
	*at += nodeLen
	p := memory.Parts{Type: typ, Len: m[0], Offset: m[1], Nulls: m[2], Place: place}
	for i, n := range m[4:] {
		if n < 0 {
			continue
		}
		p.Buffers = append(p.Buffers, make([]*memory.Buffer, i+1-len(p.Buffers))...)
		p.Buffers[i] = (*buffers)[0].Retain()
		*buffers = (*buffers)[1:]
	}
	layout := memory.LayoutOf(typ)
	if first := m[3]; first != 0 {
		if layout == memory.LayoutLargeBinary || layout == memory.LayoutLargeList {
			subtract(memory.View[int64](p.Buffers[1]), first)
		} else {
			subtract(memory.View[int32](p.Buffers[1]), int32(first))
		}
	}
	for _, part := range parts(typ) {
		c, err := dictionaryOr(layout, part, place, meta, at, buffers, dicts)
		if err != nil {
			for _, b := range p.Buffers {
				b.Release()
			}
			Release(p.Children)
			return nil, err
		}
		if layout == memory.LayoutDictionary {
			p.Dictionary = c
		} else {
			p.Children = append(p.Children, c)
		}
	}
	return memory.NewColumn(p)
}

// dictionaryOr is column of a child, or of a dictionary, which may be one that was made already.
func dictionaryOr(layout memory.Layout, typ arrow.DataType, place memory.Place, meta []int64, at *int, buffers *[]*memory.Buffer, dicts map[int]*memory.Column) (*memory.Column, error) {
	if layout != memory.LayoutDictionary || dicts == nil {
		return column(typ, place, meta, at, buffers, dicts)
	}
	here := *at
	if n := meta[here]; n < 0 {
		*at += nodeLen * nodes(typ)
		return dicts[int(-1-n)].Retain(), nil
	}
	c, err := column(typ, place, meta, at, buffers, dicts)
	dicts[here] = c.Retain() // the list that it came with may be moved, and gone, before it is wanted again
	return c, err
}

func subtract[T int32 | int64](offsets []T, first T) {
	for i := range offsets {
		offsets[i] -= first
	}
}

// own gives columns in the device's memory: these, or copies of those that are
// elsewhere.
func (t *Comm) own(ctx context.Context, cols []*memory.Column) (_ []*memory.Column, err error) {
	there := make([]*memory.Column, len(cols))
	defer func() {
		if err != nil {
			Release(there)
		}
	}()
	move := device.NewMover(t.stream, t.dev.Memory())
	defer move.Release()
	moved := false
	for i, c := range cols {
		if c.Place() == t.dev.Place() || t.dev.Place().HostAccessible() && c.Place().HostAccessible() {
			there[i] = c.Retain()
			continue
		}
		moved = true
		if there[i], err = move.Column(c); err != nil {
			return nil, err
		}
	}
	if moved {
		err = t.stream.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	return there, nil
}
