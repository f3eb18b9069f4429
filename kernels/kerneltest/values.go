package kerneltest

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// value is the bits of one fixed-width value.
type value [2]uint64

// write puts the low len(b) bytes of v into b.
func (v value) write(b []byte) {
	var word [16]byte
	binary.LittleEndian.PutUint64(word[:], v[0])
	binary.LittleEndian.PutUint64(word[8:], v[1])
	copy(b, word[:])
}

// signed is an integer sign-extended to 128 bits.
func signed(v int64) value { return value{uint64(v), uint64(v >> 63)} }

// draw draws a value of a fixed-width type.
func (s *Suite) draw(t arrow.DataType, d Domain) value {
	id := t.ID()
	switch {
	case id == arrow.FLOAT64:
		return value{math.Float64bits(s.drawFloat(d))}
	case id == arrow.FLOAT32:
		return value{uint64(math.Float32bits(float32(s.drawFloat(d))))}
	case d == Small && kernels.UnsignedTypes.Has(id):
		return value{uint64(s.Rand.IntN(101))}
	case d == Small:
		return signed(int64(s.Rand.IntN(201) - 100))
	case d == Keys && kernels.UnsignedTypes.Has(id):
		return value{uint64(s.Rand.IntN(8))}
	case d == Keys:
		return signed(int64(s.Rand.IntN(8) - 3))
	}
	const day = 86400
	switch id {
	case arrow.DATE32:
		return signed(int64(s.Rand.IntN(200_000) - 100_000))
	case arrow.DATE64:
		return signed(int64(s.Rand.IntN(200_000)-100_000) * day * 1000)
	case arrow.TIME32:
		return signed(s.Rand.Int64N(day * perSecond(t.(*arrow.Time32Type).Unit)))
	case arrow.TIME64:
		return signed(s.Rand.Int64N(day * perSecond(t.(*arrow.Time64Type).Unit)))
	case arrow.TIMESTAMP:
		return signed((s.Rand.Int64N(1e10) - 5e9) * perSecond(t.(*arrow.TimestampType).Unit)) // 158 years either side of 1970
	case arrow.DECIMAL128:
		return s.drawDecimal(t.(*arrow.Decimal128Type))
	default:
		return s.drawInteger(t)
	}
}

func perSecond(u arrow.TimeUnit) int64 {
	return int64(time.Second) / int64(u.Multiplier())
}

func (s *Suite) drawInteger(t arrow.DataType) value {
	bits := uint(t.(arrow.FixedWidthDataType).BitWidth())
	switch s.Rand.IntN(16) {
	case 0:
		return value{0}
	case 1:
		return signed(-1) // the greatest unsigned
	case 2:
		return value{1}
	case 3:
		return value{1 << (bits - 1)} // the least signed
	case 4:
		return value{1<<(bits-1) - 1} // the greatest signed
	default: // of every magnitude
		return signed(int64(s.Rand.Uint64()) >> (64 - bits + uint(s.Rand.IntN(int(bits)))))
	}
}

func (s *Suite) drawDecimal(t *arrow.Decimal128Type) value {
	if t.Precision <= 18 {
		return signed(s.Rand.Int64N(int64(math.Pow10(int(t.Precision)))))
	}
	if s.Rand.IntN(2) == 0 {
		return signed(int64(s.Rand.Uint64()) >> s.Rand.IntN(64))
	}
	return value{s.Rand.Uint64(), uint64(int64(s.Rand.Uint64()) >> (3 + s.Rand.IntN(60)))} // below 10^38
}

var (
	otherNaN   = math.Float64frombits(0xFFF8_0000_0000_0001)
	wildFloats = []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, 1 << 53, 1<<63 + 0.0,
	}
	keyFloats = []float64{math.NaN(), otherNaN, 0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), 7}
)

func (s *Suite) drawFloat(d Domain) float64 {
	switch {
	case d == Small:
		return float64(s.Rand.IntN(801)-400) / 4
	case d == Keys:
		return keyFloats[s.Rand.IntN(len(keyFloats))]
	case s.Rand.IntN(4) == 0:
		return wildFloats[s.Rand.IntN(len(wildFloats))]
	default:
		return s.Rand.NormFloat64() * math.Pow10(s.Rand.IntN(30)-10)
	}
}

var (
	wildTexts = []string{"", "", "a", "ß", "日本語", "🙂 and more", "\x00", "\x00\x00", "a\x00b", "Zürich", "12345678", "123456789abcdefg"}
	keyTexts  = []string{"", "a", "aa", "b", "ab", "ä", "key of more than sixteen bytes", "key of more than sixteen bytez"}
)

func (s *Suite) drawText(t arrow.DataType, d Domain) string {
	switch {
	case d != Wild:
		return keyTexts[s.Rand.IntN(len(keyTexts))]
	case s.Rand.IntN(200) == 0:
		return strings.Repeat("long ", 50+s.Rand.IntN(50))
	case s.Rand.IntN(2) == 0:
		return wildTexts[s.Rand.IntN(len(wildTexts))]
	}
	b := make([]byte, s.Rand.IntN(20))
	utf8 := t.ID() == arrow.STRING || t.ID() == arrow.LARGE_STRING
	for i := range b {
		if b[i] = byte(s.Rand.Uint32()); utf8 {
			b[i] = ' ' + b[i]%95
		}
	}
	return string(b)
}
