package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// HashFunc hashes each row over all columns, one or more, to uint64, the same
// on every backend; the result has no nulls.
//
// The hash of a row over one column is XXH64 (Yann Collet, "xxHash fast digest
// algorithm", the specification at github.com/Cyan4973/xxHash) of the canonical
// bytes of its key with the seed; of the next column with that hash as the
// seed, and so on. Equal keys hash alike. The canonical bytes, little-endian:
// bools and integers as their 64-bit value whatever their width, signed ones
// sign-extended; temporal values as their integers; floats as float64 with one
// NaN (0x7ff8000000000000) and 0 for -0; decimals as 16 bytes; strings and
// bytes as they are, whatever their offsets; a dictionary's row as its value; a
// null as the one byte 0xff, which is no UTF-8.
type HashFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (*memory.Column, error)

// Hash hashes each row over all keys, one or more columns of one length, to
// uint64 without nulls, as HashFunc says. No keys, or lengths that differ, are
// an ErrMismatch.
func (b *Backend) Hash(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (out *memory.Column, err error) {
	const call = "hash"
	defer b.guard(call, &err)
	if len(keys) == 0 {
		return nil, b.fail(device.ErrMismatch, call, "no keys given")
	}
	if err = b.present(call, keys...); err != nil {
		return nil, err
	}
	if err = b.sameLength(call, keys...); err != nil {
		return nil, err
	}
	e := b.Set.Hash
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, keys...); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, keys, seed)
}
