package faultinject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
)

// operations are all operations by all algorithms, with vectors of some kilobytes.
func operations() (all []subject) {
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		for _, a := range algorithm.For(op) {
			all = append(all, subject{name: fmt.Sprintf("%s by %s", op, a.Name), by: map[algorithm.Op]string{op: a.Name}, messages: later(op),
				enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) { return operation(c, op, 600, round) })})
		}
	}
	return all
}

// later are the messages of an operation that faults befall: in some of three rounds a rank sends none where one is the root.
func later(op algorithm.Op) []int64 {
	switch op {
	case algorithm.Reduce, algorithm.Gather, algorithm.Scatter:
		return []int64{0, 1}
	}
	return []int64{0, 2}
}

// vectors makes the calls of a round of a function that gives their vectors, also where it fails. When it has returned they
// are the caller's again: they are written over at once, and must stay so.
func vectors(f func(c *collective.Comm, round int) ([][]int32, error)) func(c *collective.Comm) (func(int) error, func() error, error) {
	return func(c *collective.Comm) (func(int) error, func() error, error) {
		var given [][]int32
		call := func(round int) (err error) {
			given, err = f(c, round)
			for _, v := range given {
				spoil(v)
			}
			return err
		}
		leave := func() error {
			for _, v := range given {
				if !spoiled(v) {
					return fmt.Errorf("its vector of %d elements was written to after the call", len(v))
				}
			}
			return nil
		}
		return call, leave, nil
	}
}

// spoil writes over a vector.
func spoil(v []int32) {
	if len(v) > 0 {
		v[0] = poisoned
	}
	for n := 1; n < len(v); n *= 2 {
		copy(v[n:], v[:n])
	}
}

// spoiled says whether a vector has stayed as spoil left it. It compares bytes, which is fast under the race detector too.
func spoiled(v []int32) bool {
	return len(v) == 0 || v[0] == poisoned && equal(v[1:], v[:len(v)-1])
}

// equal compares as bytes.
func equal(a, b []int32) bool {
	view := func(v []int32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v)) }
	return bytes.Equal(view(a), view(b))
}

// numbers are what rank r gives in a round.
func numbers(r, length, round int) []int32 {
	v := make([]int32, length)
	for i := range v {
		v[i] = number(r, i, round)
	}
	return v
}

func number(r, i, round int) int32 { return int32(r*1000 + i + round) }

// sum is what element i of all ranks' comes to.
func sum(i, round int) (s int32) {
	for r := range ranks {
		s += number(r, i, round)
	}
	return s
}

// errWrong is a result that is not the right one.
var errWrong = errors.New("the result is wrong")

// operation makes one call with n elements, or blocks of so many, and checks its result.
func operation(c *collective.Comm, op algorithm.Op, n, round int) (given [][]int32, err error) {
	ctx, root := context.Background(), round%ranks
	var in, got, want []int32
	switch op {
	case algorithm.Barrier:
		return nil, c.Barrier(ctx)
	case algorithm.Broadcast:
		in, got, want = numbers(c.Rank(), n, round), make([]int32, n), numbers(root, n, round)
		err = c.Broadcast(ctx, collective.Of(in), collective.Of(got), root)
	case algorithm.Reduce, algorithm.AllReduce:
		in, got, want = numbers(c.Rank(), n, round), make([]int32, n), make([]int32, n)
		if op == algorithm.Reduce {
			err = c.Reduce(ctx, collective.Of(in), collective.Of(got), collective.Sum, root)
		} else {
			err = c.AllReduce(ctx, collective.Of(in), collective.Of(got), collective.Sum)
		}
		for i := range want {
			if op == algorithm.AllReduce || c.Rank() == root {
				want[i] = sum(i, round)
			}
		}
	case algorithm.ReduceScatter:
		in, got, want = numbers(c.Rank(), n*ranks, round), make([]int32, n), make([]int32, n)
		err = c.ReduceScatter(ctx, collective.Of(in), collective.Of(got), collective.Sum)
		for i := range want {
			want[i] = sum(c.Rank()*n+i, round)
		}
	case algorithm.AllGather, algorithm.Gather:
		in, got = numbers(c.Rank(), n, round), make([]int32, n*ranks)
		if op == algorithm.AllGather {
			err = c.AllGather(ctx, collective.Of(in), collective.Of(got))
		} else {
			err = c.Gather(ctx, collective.Of(in), collective.Of(got), root)
		}
		for r := range ranks {
			want = append(want, numbers(r, n, round)...)
		}
		if op == algorithm.Gather && c.Rank() != root {
			want = make([]int32, n*ranks)
		}
	case algorithm.Scatter:
		in, got, want = numbers(c.Rank(), n*ranks, round), make([]int32, n), numbers(root, n*ranks, round)[c.Rank()*n:(c.Rank()+1)*n]
		err = c.Scatter(ctx, collective.Of(in), collective.Of(got), root)
	case algorithm.AllToAll:
		in, got = numbers(c.Rank(), n*ranks, round), make([]int32, n*ranks)
		err = c.AllToAll(ctx, collective.Of(in), collective.Of(got))
		for r := range ranks {
			want = append(want, numbers(r, n*ranks, round)[c.Rank()*n:(c.Rank()+1)*n]...)
		}
	}
	if err == nil && !equal(got, want) {
		err = errWrong
	}
	return [][]int32{in, got}, err
}
