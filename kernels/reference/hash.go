package reference

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func hash(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (*memory.Column, error) {
	t := arrow.PrimitiveTypes.Uint64
	return kernels.BuildColumn(ctx, s, t, keys[0].Len(), func(i int64) (kernels.Scalar, error) {
		h := seed
		for _, k := range keys {
			h = xxh64(keyBytes(kernels.ScalarAt(k, i)), h)
		}
		return kernels.Int(t, int64(h)), nil
	})
}

// keyBytes are the canonical bytes of a key.
func keyBytes(v kernels.Scalar) []byte {
	switch id := v.Type().ID(); {
	case !v.Valid():
		return []byte{0xff}
	case kernels.BinaryTypes.Has(id):
		return []byte(v.Text())
	case kernels.FloatTypes.Has(id):
		f := v.Float64()
		switch {
		case f != f:
			return binary.LittleEndian.AppendUint64(nil, 0x7ff8000000000000)
		case f == 0:
			f = 0 // not -0
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))
	case id == arrow.DECIMAL128:
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, v.Uint64()), uint64(v.Decimal().HighBits()))
	default:
		return binary.LittleEndian.AppendUint64(nil, v.Uint64())
	}
}

// The primes of XXH64.
const (
	prime1 = 0x9E3779B185EBCA87
	prime2 = 0xC2B2AE3D27D4EB4F
	prime3 = 0x165667B19E3779F9
	prime4 = 0x85EBCA77C2B2AE63
	prime5 = 0x27D4EB2F165667C5
)

// xxh64 is the algorithm of the specification, step by step.
func xxh64(b []byte, seed uint64) uint64 {
	round := func(acc, lane uint64) uint64 {
		return bits.RotateLeft64(acc+lane*prime2, 31) * prime1
	}
	length := uint64(len(b))
	p1 := uint64(prime1)
	h := seed + prime5
	if length >= 32 {
		acc := [4]uint64{seed + p1 + prime2, seed + prime2, seed, seed - p1}
		for len(b) >= 32 {
			for k := range acc {
				acc[k] = round(acc[k], binary.LittleEndian.Uint64(b[8*k:]))
			}
			b = b[32:]
		}
		h = bits.RotateLeft64(acc[0], 1) + bits.RotateLeft64(acc[1], 7) +
			bits.RotateLeft64(acc[2], 12) + bits.RotateLeft64(acc[3], 18)
		for _, a := range acc {
			h = (h^round(0, a))*prime1 + prime4
		}
	}
	h += length
	for ; len(b) >= 8; b = b[8:] {
		h ^= round(0, binary.LittleEndian.Uint64(b))
		h = bits.RotateLeft64(h, 27)*prime1 + prime4
	}
	if len(b) >= 4 {
		h ^= uint64(binary.LittleEndian.Uint32(b)) * prime1
		h = bits.RotateLeft64(h, 23)*prime2 + prime3
		b = b[4:]
	}
	for _, c := range b {
		h ^= uint64(c) * prime5
		h = bits.RotateLeft64(h, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}
