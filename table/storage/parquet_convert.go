package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/volley-go/volley/device"
)

// convertedValues is how values of an Arrow type are put together from stored ones that
// are other bits, and how these become the plain values that they are put together from;
// nil where arrow-go is to do it.
func (c *chunkReader) convertedValues(t arrow.DataType, most int64) (flatValues, func([]byte) ([]byte, error)) {
	fixed := c.stored == parquet.Types.FixedLenByteArray && c.width > 0
	switch id := t.ID(); {
	case c.stored == parquet.Types.Int96 && id == arrow.TIMESTAMP:
		return newFixed[uint64](c.from, 8, 8), c.times96
	case fixed && id == arrow.LARGE_BINARY:
		return &textValues[int64]{from: c.from, wide: 8, most: most}, c.texts
	case fixed && id == arrow.FLOAT16 && c.width == 2:
		return newFixed[uint16](c.from, 4, 2), func(b []byte) ([]byte, error) {
			out := make([]byte, 0, 2*len(b)+slack)
			for ; len(b) >= 2; b = b[2:] {
				out = append(out, b[0], b[1], 0, 0)
			}
			return out, nil
		}
	case fixed && id == arrow.DECIMAL128 && c.width <= 16:
		return &wideValues{from: c.from, width: 16}, c.decimals
	case c.stored == parquet.Types.Int32 && id == arrow.DECIMAL128:
		return &wideValues{from: c.from, width: 4}, nil
	case c.stored == parquet.Types.Int64 && id == arrow.DECIMAL128:
		return &wideValues{from: c.from, width: 8}, nil
	}
	return nil, nil
}

// texts has the lengths of bytes of one size in front of them, as others have.
func (c *chunkReader) texts(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b)/c.width*(c.width+4)+slack)
	for ; len(b) >= c.width; b = b[c.width:] {
		out = binary.LittleEndian.AppendUint32(out, uint32(c.width))
		out = append(out, b[:c.width]...)
	}
	return out, nil
}

var minusOne = [16]byte(bytes.Repeat([]byte{0xff}, 16))

// decimals are 16 bytes each, the lowest first, of some bytes, the highest first.
func (c *chunkReader) decimals(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b)/c.width*16+slack)
	for ; len(b) >= c.width; b = b[c.width:] {
		var word [16]byte
		if b[0]&0x80 != 0 {
			word = minusOne
		}
		copy(word[16-c.width:], b[:c.width])
		out = binary.LittleEndian.AppendUint64(out, binary.BigEndian.Uint64(word[8:]))
		out = binary.LittleEndian.AppendUint64(out, binary.BigEndian.Uint64(word[:8]))
	}
	return out, nil
}

// julian1970 is the Julian day number of 1970-01-01.
const julian1970 = 2440588

// times96 are timestamps of nanoseconds of a day and the day's Julian number, in the
// column's unit.
func (c *chunkReader) times96(b []byte) ([]byte, error) {
	out := make([]byte, 0, len(b)/12*8+slack)
	unit := c.typ.(*arrow.TimestampType).Unit
	for ; len(b) >= 12; b = b[12:] {
		nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))-julian1970
		v, ok := in96(day, nanos, unit)
		if !ok {
			when := time.Unix(day*86400, 0).Add(time.Duration(nanos)).UTC()
			return nil, &Error{Path: c.file.path, Part: c.part, Name: c.name, Kind: device.ErrValue,
				Text: fmt.Sprintf("%s is not within what 64 bits of %s reach: ask for a coarser unit (Int96 of ParquetReadOptions; int96 in Python and C)", when.Format("2006-01-02T15:04:05.999999999Z"), unit)}
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out, nil
}

// in96 is a day and nanoseconds of it in units since 1970, rounded down.
func in96(day, nanos int64, unit arrow.TimeUnit) (int64, bool) {
	per := int64(unit.Multiplier())
	of := nanos / per
	if nanos%per < 0 {
		of--
	}
	each := uint64(24 * time.Hour / unit.Multiplier())
	high, low := bits.Mul64(uint64(max(day, -day)), each)
	v := int64(low)
	if high != 0 || v < 0 {
		// the lowest numbers are those of a day that begins below them
		if high == 0 && day < 0 && low-1<<63 <= uint64(max(of, 0)) {
			return int64(uint64(of) - low), true
		}
		return 0, false
	}
	if day < 0 {
		v = -v
	}
	sum := v + of
	return sum, (sum > v) == (of > 0)
}
