package storage

import (
	"encoding/binary"
	"errors"
)

// compact walks Thrift's compact protocol, in which Parquet writes its footer
// and its page headers, without building anything: to find counts and sizes
// that the bytes cannot hold before a decoder allocates by them.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type compact struct {
	b   []byte
	pos int
}

var errThrift = errors.New("its metadata is damaged")

// The types of the compact protocol.
const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// deepest is how far structs and lists may nest: Parquet's own go 8 deep.
const deepest = 32

func (c *compact) left() int { return len(c.b) - c.pos }

func (c *compact) byte() (byte, error) {
	if c.left() < 1 {
		return 0, errThrift
	}
	c.pos++
	return c.b[c.pos-1], nil
}

func (c *compact) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b[c.pos:])
	if n <= 0 {
		return 0, errThrift
	}
	c.pos += n
	return v, nil
}

func (c *compact) varint() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (c *compact) advance(n uint64) error {
	if n > uint64(c.left()) {
		return errThrift
	}
	c.pos += int(n)
	return nil
}

// fields calls f for each field of a struct; f reads the value or skips it.
func (c *compact) fields(depth int, f func(id int16, typ byte) error) error {
	if depth > deepest {
		return errThrift
	}
	id := int16(0)
	for {
		head, err := c.byte()
		if err != nil || head == thriftStop {
			return err
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			v, err := c.varint()
			if err != nil {
				return err
			}
			id = int16(v)
		}
		if err := f(id, head&15); err != nil {
			return err
		}
	}
}

// skip passes over a value.
func (c *compact) skip(typ byte, depth int) error {
	switch typ {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return c.advance(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := c.uvarint()
		return err
	case thriftDouble:
		return c.advance(8)
	case thriftBinary:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		return c.advance(n)
	case thriftList, thriftSet:
		return c.skipList(depth)
	case thriftMap:
		return c.skipMap(depth)
	case thriftStruct:
		return c.fields(depth+1, func(_ int16, typ byte) error { return c.skip(typ, depth+1) })
	default:
		return errThrift
	}
}

func (c *compact) skipList(depth int) error {
	if depth > deepest {
		return errThrift
	}
	head, err := c.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = c.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(c.left()) { // every element takes a byte at least
		return errThrift
	}
	for range n {
		if err := c.skipElement(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *compact) skipMap(depth int) error {
	n, err := c.uvarint()
	if err != nil || n == 0 {
		return err
	}
	types, err := c.byte()
	if err != nil || n > uint64(c.left()) || depth > deepest {
		return errThrift
	}
	for range n {
		if err := c.skipElement(types>>4, depth+1); err != nil {
			return err
		}
		if err := c.skipElement(types&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// skipElement is skip, but for bools, which as elements take a byte.
func (c *compact) skipElement(typ byte, depth int) error {
	if typ == thriftTrue || typ == thriftFalse {
		return c.advance(1)
	}
	return c.skip(typ, depth)
}

// checkThrift walks one struct from the beginning of b.
func checkThrift(b []byte) error {
	c := compact{b: b}
	return c.skip(thriftStruct, 0)
}

// pageHeader is what the walk over pages needs of Parquet's PageHeader.
type pageHeader struct {
	kind                     int64 // 0 data, 1 index, 2 dictionary, 3 data version 2
	uncompressed, compressed int64
	levels                   int64 // bytes of levels in front, of version 2
	repeats                  int64 // how many of these are of repetition levels
	plain                    bool  // version 2 that says it is not compressed
	values                   int64
	encoding, levelEncoding  int64 // as parquet.thrift numbers them; the latter of version 1
	size                     int   // of the header itself
	summed                   bool  // whether there is a checksum
	sum                      uint32
}

// readPageHeader reads the header that b begins with.
func readPageHeader(b []byte) (pageHeader, error) {
	h := pageHeader{kind: -1, uncompressed: -1, compressed: -1}
	c := compact{b: b}
	number := func(to *int64) error {
		v, err := c.varint()
		*to = v
		return err
	}
	inner := func(id int16, typ byte) error {
		switch {
		case id == 1 && typ == thriftI32:
			return number(&h.values)
		case (id == 5 || id == 6) && typ == thriftI32 && h.kind == 3:
			var n int64
			err := number(&n)
			if n < 0 {
				return errThrift
			}
			h.levels += n
			if id == 6 {
				h.repeats = n
			}
			return err
		case (id == 2 && h.kind != 3 || id == 4 && h.kind == 3) && typ == thriftI32:
			return number(&h.encoding)
		case id == 3 && h.kind == 0 && typ == thriftI32:
			return number(&h.levelEncoding)
		case id == 7 && h.kind == 3:
			h.plain = typ == thriftFalse
		}
		return c.skip(typ, 1)
	}
	err := c.fields(0, func(id int16, typ byte) error {
		switch {
		case id == 1 && typ == thriftI32:
			return number(&h.kind)
		case id == 2 && typ == thriftI32:
			return number(&h.uncompressed)
		case id == 3 && typ == thriftI32:
			return number(&h.compressed)
		case id == 4 && typ == thriftI32:
			var sum int64
			err := number(&sum)
			h.summed, h.sum = true, uint32(sum)
			return err
		case (id == 5 || id == 7 || id == 8) && typ == thriftStruct:
			return c.fields(1, inner)
		}
		return c.skip(typ, 0)
	})
	h.size = c.pos
	if err == nil && (h.kind < 0 || h.uncompressed < 0 || h.compressed < 0 || h.values < 0) {
		err = errThrift
	}
	return h, err
}
