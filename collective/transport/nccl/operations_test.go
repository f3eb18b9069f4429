package nccl

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/cuda"
)

const elements = 37

// encode writes a small whole number as an element.
func encode(t Type, x int) []byte {
	switch t {
	case Int8, Uint8:
		return []byte{byte(x)}
	case Int32, Uint32:
		return binary.LittleEndian.AppendUint32(nil, uint32(x))
	case Int64, Uint64:
		return binary.LittleEndian.AppendUint64(nil, uint64(x))
	case Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	case Float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(x)))
	case BFloat16:
		return binary.LittleEndian.AppendUint16(nil, uint16(math.Float32bits(float32(x))>>16))
	}
	if x == 0 {
		return []byte{0, 0}
	}
	bits := math.Float32bits(float32(x)) // binary16 of a normal number
	return binary.LittleEndian.AppendUint16(nil, uint16(bits>>16&0x8000|(bits>>23&0xff-112)<<10|bits>>13&0x3ff))
}

func vector(t Type, n int, f func(i int) int) []byte {
	var b []byte
	for i := range n {
		b = append(b, encode(t, f(i))...)
	}
	return b
}

// given is what a rank has in a place, from 1 to 4: products of four are whole in 16 bits.
func given(rank, i int) int { return 1 + (rank*5+i*3)%4 }

// folded is the reduction of all ranks' elements in a place.
func folded(size, i int, op Op) int {
	x := given(0, i)
	for r := 1; r < size; r++ {
		y := given(r, i)
		switch op {
		case Prod:
			x *= y
		case Max:
			x = max(x, y)
		case Min:
			x = min(x, y)
		default:
			x += y
		}
	}
	if op == Avg {
		x /= size
	}
	return x
}

// check runs an operation on in and compares out.
func (r rank) check(ctx context.Context, what string, t Type, in, want []byte, out int, do func(in, out Vector) error) error {
	from, err := r.put(ctx, t, in)
	if err != nil {
		return err
	}
	to, err := r.put(ctx, t, make([]byte, out*int(t.Width())))
	if err != nil {
		return err
	}
	if err := do(from, to); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := r.Wait(ctx, r.stream); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	from.Buffer.Release()
	got, err := r.take(ctx, t, to)
	if err == nil && want != nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s of type %d gives %v, want %v", what, t, got, want)
	}
	return err
}

func (r rank) reductions(ctx context.Context, t Type, op Op) error {
	own := vector(t, elements, func(i int) int { return given(r.Rank(), i) })
	sum := vector(t, elements, func(i int) int { return folded(r.Size(), i, op) })
	if op == Avg && t >= Float16 {
		sum = nil // not whole numbers; TestTypes of package ondevice has them
	}
	wide := vector(t, elements*r.Size(), func(i int) int { return given(r.Rank(), i) })
	part := vector(t, elements, func(i int) int { return folded(r.Size(), r.Rank()*elements+i, op) })
	if sum == nil {
		part = nil
	}
	root := r.Size() - 1
	atRoot := sum
	if r.Rank() != root {
		atRoot = make([]byte, len(own))
	}
	return errors.Join(
		r.check(ctx, "AllReduce", t, own, sum, elements, func(in, out Vector) error { return r.AllReduce(ctx, r.stream, t, in, out, op) }),
		r.check(ctx, "Reduce", t, own, atRoot, elements, func(in, out Vector) error { return r.Reduce(ctx, r.stream, t, in, out, op, root) }),
		r.check(ctx, "ReduceScatter", t, wide, part, elements, func(in, out Vector) error { return r.ReduceScatter(ctx, r.stream, t, in, out, op) }),
	)
}

func (r rank) movements(ctx context.Context, t Type) error {
	of := func(rank int) []byte { return vector(t, elements, func(i int) int { return given(rank, i) }) }
	var everyone []byte
	var sends, recvs []Part
	for q := range r.Size() {
		everyone = append(everyone, of(q)...)
		sends = append(sends, Part{q, Vector{Offset: int64(q * elements), Len: elements}})
	}
	root := r.Size() / 2
	var mine []byte // of everyone's blocks, the one for this rank
	for range r.Size() {
		mine = append(mine, of(r.Rank())...)
	}
	return errors.Join(
		r.check(ctx, "Broadcast", t, of(r.Rank()), of(root), elements, func(in, out Vector) error { return r.Broadcast(ctx, r.stream, t, in, out, root) }),
		r.check(ctx, "AllGather", t, of(r.Rank()), everyone, elements*r.Size(), func(in, out Vector) error { return r.AllGather(ctx, r.stream, t, in, out) }),
		r.check(ctx, "AllToAll", t, everyone, mine, elements*r.Size(), func(in, out Vector) error {
			for q, p := range sends {
				p.Vector.Buffer = in.Buffer
				p.Vector.Offset += in.Offset
				sends[q] = p
				recvs = append(recvs, Part{q, Vector{out.Buffer, out.Offset + int64(q*elements), elements}})
			}
			return r.Exchange(ctx, r.stream, t, sends, recvs)
		}),
	)
}

// Every operation in every type, in worlds of one to as many ranks as there are GPUs.
func TestOperations(t *testing.T) {
	l, gpus := here(t)
	for size := 1; size <= min(gpus, 4); size++ {
		for i, err := range together(t, l, size, func(ctx context.Context, r rank) error {
			for typ := Int8; typ <= BFloat16; typ++ {
				if err := r.movements(ctx, typ); err != nil {
					return err
				}
				for op := Sum; op <= Avg; op++ {
					if err := r.reductions(ctx, typ, op); err != nil {
						return fmt.Errorf("op %d: %w", op, err)
					}
				}
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", i, size, err)
			}
		}
	}
}

// What cannot be is refused before the library sees it.
func TestRefuses(t *testing.T) {
	l, gpus := here(t)
	if gpus == 0 {
		return
	}
	for _, err := range together(t, l, 1, func(ctx context.Context, r rank) error {
		v, err := r.put(ctx, Int32, make([]byte, 40))
		if err != nil {
			return err
		}
		defer v.Buffer.Release()
		past, short, none := v, v, Vector{Len: 10}
		past.Len++
		short.Len--
		for what, err := range map[string]error{
			"beyond the buffer": r.AllReduce(ctx, r.stream, Int32, past, past, Sum),
			"no buffer":         r.AllReduce(ctx, r.stream, Int32, none, none, Sum),
			"other lengths":     r.AllReduce(ctx, r.stream, Int32, v, short, Sum),
			"no root":           r.Broadcast(ctx, r.stream, Int32, v, v, 1),
			"no peer":           r.Exchange(ctx, r.stream, Int32, []Part{{3, v}}, nil),
			"no type":           r.AllReduce(ctx, r.stream, Type(99), v, v, Sum),
		} {
			if !errors.Is(err, device.ErrMismatch) {
				return fmt.Errorf("%s: %v", what, err)
			}
		}
		return nil
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	gpu, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer gpu.Close()
	if _, err := l.Join(context.Background(), gpu, ID{}, 2, 2); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("rank 2 of 2: %v", err)
	}
}
