package filemeta

import (
	"encoding/binary"
	"errors"
)

// Compact walks Thrift's compact protocol, in which Parquet writes its footer
// and its page headers, without building anything: to find counts and sizes
// that the bytes cannot hold before a decoder allocates by them.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
type Compact struct {
	Bytes []byte
	At    int // of the next byte
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

// Left is how many bytes are left.
func (c *Compact) Left() int { return len(c.Bytes) - c.At }

func (c *Compact) byte() (byte, error) {
	if c.Left() < 1 {
		return 0, errThrift
	}
	c.At++
	return c.Bytes[c.At-1], nil
}

// Uvarint reads an unsigned number of seven bits a byte.
func (c *Compact) Uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.Bytes[c.At:])
	if n <= 0 {
		return 0, errThrift
	}
	c.At += n
	return v, nil
}

// Varint reads a signed one, whose lowest bit is the sign.
func (c *Compact) Varint() (int64, error) {
	u, err := c.Uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (c *Compact) advance(n uint64) error {
	if n > uint64(c.Left()) {
		return errThrift
	}
	c.At += int(n)
	return nil
}

// fields calls f for each field of a struct; f reads the value or skips it.
func (c *Compact) fields(depth int, f func(id int16, typ byte) error) error {
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
			v, err := c.Varint()
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
func (c *Compact) skip(typ byte, depth int) error {
	switch typ {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return c.advance(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := c.Uvarint()
		return err
	case thriftDouble:
		return c.advance(8)
	case thriftBinary:
		n, err := c.Uvarint()
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

func (c *Compact) skipList(depth int) error {
	if depth > deepest {
		return errThrift
	}
	head, err := c.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = c.Uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(c.Left()) { // every element takes a byte at least
		return errThrift
	}
	for range n {
		if err := c.skipElement(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *Compact) skipMap(depth int) error {
	n, err := c.Uvarint()
	if err != nil || n == 0 {
		return err
	}
	types, err := c.byte()
	if err != nil || n > uint64(c.Left()) || depth > deepest {
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
func (c *Compact) skipElement(typ byte, depth int) error {
	if typ == thriftTrue || typ == thriftFalse {
		return c.advance(1)
	}
	return c.skip(typ, depth)
}

// CheckThrift walks one struct from the beginning of b.
func CheckThrift(b []byte) error {
	c := Compact{Bytes: b}
	return c.skip(thriftStruct, 0)
}

// PageHeader is what the walk over pages needs of Parquet's PageHeader.
type PageHeader struct {
	Kind                     int64 // 0 data, 1 index, 2 dictionary, 3 data version 2
	Uncompressed, Compressed int64
	Levels                   int64 // bytes of levels in front, of version 2
	Repeats                  int64 // how many of these are of repetition levels
	Plain                    bool  // version 2 that says it is not compressed
	Values                   int64
	Encoding, LevelEncoding  int64 // as parquet.thrift numbers them; the latter of version 1
	Size                     int   // of the header itself
	Summed                   bool  // whether there is a checksum
	Sum                      uint32
}

// ReadPageHeader reads the header that b begins with.
func ReadPageHeader(b []byte) (PageHeader, error) {
	h := PageHeader{Kind: -1, Uncompressed: -1, Compressed: -1}
	c := Compact{Bytes: b}
	number := func(to *int64) error {
		v, err := c.Varint()
		*to = v
		return err
	}
	inner := func(id int16, typ byte) error {
		switch {
		case id == 1 && typ == thriftI32:
			return number(&h.Values)
		case (id == 5 || id == 6) && typ == thriftI32 && h.Kind == 3:
			var n int64
			err := number(&n)
			if n < 0 {
				return errThrift
			}
			h.Levels += n
			if id == 6 {
				h.Repeats = n
			}
			return err
		case (id == 2 && h.Kind != 3 || id == 4 && h.Kind == 3) && typ == thriftI32:
			return number(&h.Encoding)
		case id == 3 && h.Kind == 0 && typ == thriftI32:
			return number(&h.LevelEncoding)
		case id == 7 && h.Kind == 3:
			h.Plain = typ == thriftFalse
		}
		return c.skip(typ, 1)
	}
	err := c.fields(0, func(id int16, typ byte) error {
		switch {
		case id == 1 && typ == thriftI32:
			return number(&h.Kind)
		case id == 2 && typ == thriftI32:
			return number(&h.Uncompressed)
		case id == 3 && typ == thriftI32:
			return number(&h.Compressed)
		case id == 4 && typ == thriftI32:
			var sum int64
			err := number(&sum)
			h.Summed, h.Sum = true, uint32(sum)
			return err
		case (id == 5 || id == 7 || id == 8) && typ == thriftStruct:
			return c.fields(1, inner)
		}
		return c.skip(typ, 0)
	})
	h.Size = c.At
	if err == nil && (h.Kind < 0 || h.Uncompressed < 0 || h.Compressed < 0 || h.Values < 0) {
		err = errThrift
	}
	return h, err
}
