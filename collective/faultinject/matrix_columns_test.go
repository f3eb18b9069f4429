package faultinject

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/columns"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

// onColumns are the ways in which columns of tables go between ranks: to all, to each others, between two, and reductions
// of whole columns and of parts. AllGather, Gather and Scatter are AllToAll with other lists, and Reduce is AllReduce for
// one rank; AllGather is here since one column goes to several ranks. The later messages are those of the columns'
// bytes, behind those by which the ranks agree and tell the lengths. Every second one is on a device whose memory the
// host cannot read.
func onColumns() []subject {
	return []subject{
		{name: "Broadcast of columns", messages: []int64{0, 20}, enter: tables(false, broadcastColumns)},
		{name: "AllGather of columns", messages: []int64{1, 8}, enter: tables(true, gatherColumns)},
		{name: "AllToAll of columns", messages: []int64{3, 9}, enter: tables(false, tradeColumns)},
		{name: "Exchange of columns", messages: []int64{0, 3}, enter: tables(true, exchangeColumns)},
		{name: "AllReduce of columns", messages: []int64{2, 5}, enter: tables(true, sumColumns)},
		{name: "ReduceScatter of columns", messages: []int64{1, 6}, enter: tables(false, sumParts)},
	}
}

// tableRank is one rank's columns and the device that they are on.
type tableRank struct {
	t       *columns.Comm
	c       *collective.Comm
	dev     device.Device
	s       device.Stream
	counted *memory.Counted // what the host holds for it
	inUse   func() int64    // bytes of the device that are out
}

// tables makes the calls of f, on the host or on a device that it cannot read. Nothing may be out when the last has ended.
func tables(remote bool, f func(r *tableRank, round int) error) func(c *collective.Comm) (func(int) error, func() error, error) {
	return func(c *collective.Comm) (func(int) error, func() error, error) {
		r := &tableRank{c: c, counted: memory.NewCounted(memory.Heap), inUse: func() int64 { return 0 }}
		if remote {
			far := devicetest.NewRemote(memory.Place{Type: memory.OpenCL}, host.WithAllocator(r.counted))
			r.dev, r.inUse = far, far.InUse
		} else {
			r.dev = host.New(host.WithAllocator(r.counted))
		}
		var err error
		if r.t, err = columns.New(c, r.dev); err != nil {
			return nil, nil, err
		}
		if r.s, err = r.dev.NewStream(); err != nil {
			return nil, nil, err
		}
		leave := func() error {
			err := errors.Join(r.t.Close(), r.s.Close(), r.counted.Check())
			if n := r.inUse(); n != 0 {
				err = errors.Join(err, fmt.Errorf("%d bytes of the device are out", n))
			}
			return errors.Join(err, r.dev.Close())
		}
		return func(round int) error { return f(r, round) }, leave, nil
	}
}

var (
	columnTypes = []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.ListOf(arrow.BinaryTypes.String)}
	sumTypes    = []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64}
)

// arrays are columns of texts, numbers and lists with nulls, which from and to tell apart; of some pairs they are empty.
func arrays(from, to, round int) (all []arrow.Array) {
	rows := 90 + 10*from + to
	if (from+to+round)%ranks == 3 {
		rows = 0
	}
	texts, numbers := array.NewStringBuilder(arrowmem.DefaultAllocator), array.NewInt64Builder(arrowmem.DefaultAllocator)
	lists := array.NewListBuilder(arrowmem.DefaultAllocator, arrow.BinaryTypes.String)
	items := lists.ValueBuilder().(*array.StringBuilder)
	for i := range rows {
		if i%7 == from {
			texts.AppendNull()
			numbers.AppendNull()
			lists.AppendNull()
			continue
		}
		text := strings.Repeat(fmt.Sprint(from, to, round, i), i%4)
		texts.Append(text)
		numbers.Append(int64(1000*from + 100*to + i))
		lists.Append(true)
		for range i % 3 {
			items.Append(text)
		}
	}
	for _, b := range []array.Builder{texts, numbers, lists} {
		all = append(all, b.NewArray())
	}
	return all
}

// give brings arrays to the rank's device, as windows that begin behind some rows where there are so many.
func (r *tableRank) give(all []arrow.Array) (cols []*memory.Column, err error) {
	for _, a := range all {
		c, cerr := memory.FromArrow(a)
		a.Release()
		if err = errors.Join(err, cerr); err != nil {
			continue
		}
		skip := min(5, c.Len())
		window, werr := c.Slice(skip, c.Len()-skip)
		c.Release()
		if err = errors.Join(err, werr); err != nil {
			continue
		}
		there, merr := device.Move(context.Background(), r.s, r.dev.Memory(), window)
		window.Release()
		if err = errors.Join(err, merr); err == nil {
			cols = append(cols, there)
		}
	}
	return cols, err
}

// same compares columns that came, and releases them.
func (r *tableRank) same(got []*memory.Column, want []arrow.Array) error {
	defer columns.Release(got)
	if len(got) != len(want) {
		return fmt.Errorf("%w: %d columns, not %d", errWrong, len(got), len(want))
	}
	for i, a := range want {
		here, err := device.Move(context.Background(), r.s, memory.Heap, got[i])
		if err != nil {
			return err
		}
		b, err := memory.ToArrow(here)
		here.Release()
		if err != nil {
			return err
		}
		skip := min(5, int64(a.Len()))
		window := array.NewSlice(a, skip, int64(a.Len()))
		if !array.Equal(b, window) {
			err = fmt.Errorf("%w: column %d is %v, not %v", errWrong, i, b, window)
		}
		window.Release()
		b.Release()
		a.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func broadcastColumns(r *tableRank, round int) error {
	root := (round + victim) % ranks
	var cols []*memory.Column
	var err error
	if r.c.Rank() == root {
		if cols, err = r.give(arrays(root, 0, round)); err != nil {
			return err
		}
		defer columns.Release(cols)
	}
	got, err := r.t.Broadcast(context.Background(), columnTypes, cols, root)
	if err != nil {
		return err
	}
	return r.same(got, arrays(root, 0, round))
}

// sameAll compares lists that came from all ranks.
func (r *tableRank) sameAll(got [][]*memory.Column, want func(from int) []arrow.Array) (err error) {
	if len(got) != ranks {
		return fmt.Errorf("%w: %d lists", errWrong, len(got))
	}
	for from, list := range got {
		err = errors.Join(err, r.same(list, want(from)))
	}
	return err
}

func gatherColumns(r *tableRank, round int) error {
	cols, err := r.give(arrays(r.c.Rank(), 0, round))
	if err != nil {
		return err
	}
	defer columns.Release(cols)
	got, err := r.t.AllGather(context.Background(), columnTypes, cols)
	if err != nil {
		return err
	}
	return r.sameAll(got, func(from int) []arrow.Array { return arrays(from, 0, round) })
}

func tradeColumns(r *tableRank, round int) error {
	parts := make([][]*memory.Column, ranks)
	defer func() {
		for _, cols := range parts {
			columns.Release(cols)
		}
	}()
	for to := range parts {
		var err error
		if parts[to], err = r.give(arrays(r.c.Rank(), to, round)); err != nil {
			return err
		}
	}
	got, err := r.t.AllToAll(context.Background(), columnTypes, parts)
	if err != nil {
		return err
	}
	return r.sameAll(got, func(from int) []arrow.Array { return arrays(from, r.c.Rank(), round) })
}

// exchangeColumns sends to the next rank and takes from the one before.
func exchangeColumns(r *tableRank, round int) error {
	me := r.c.Rank()
	next, prev := (me+1)%ranks, (me+ranks-1)%ranks
	cols, err := r.give(arrays(me, next, round))
	if err != nil {
		return err
	}
	defer columns.Release(cols)
	got, err := r.t.Exchange(context.Background(), []columns.Transfer{
		{Peer: next, Types: columnTypes, Columns: cols}, {Peer: prev, Types: columnTypes, Recv: true}})
	if err != nil {
		return err
	}
	return r.same(got[1], arrays(prev, me, round))
}

// addends are a rank's columns of numbers, with nulls in other rows than those of other ranks and in one that all share, and
// what all ranks' come to.
func addends(rank, round int) (own, sums []arrow.Array) {
	const rows = 401
	skipped := func(r, i int) bool { return i%9 == r || i%50 == 7 }
	build := func(value func(i int) (x int32, ok bool)) []arrow.Array {
		ints, floats := array.NewInt32Builder(arrowmem.DefaultAllocator), array.NewFloat64Builder(arrowmem.DefaultAllocator)
		for i := range rows {
			if x, ok := value(i); ok {
				ints.Append(x)
				floats.Append(float64(x) / 2)
			} else {
				ints.AppendNull()
				floats.AppendNull()
			}
		}
		return []arrow.Array{ints.NewArray(), floats.NewArray()}
	}
	own = build(func(i int) (int32, bool) { return number(rank, i, round), !skipped(rank, i) })
	sums = build(func(i int) (s int32, some bool) {
		for r := range ranks {
			if !skipped(r, i) {
				s, some = s+number(r, i, round), true
			}
		}
		return s, some
	})
	return own, sums
}

func sumColumns(r *tableRank, round int) error {
	own, sums := addends(r.c.Rank(), round)
	cols, err := r.give(own)
	if err != nil {
		return err
	}
	defer columns.Release(cols)
	got, err := r.t.AllReduce(context.Background(), sumTypes, cols, collective.Sum)
	if err != nil {
		return err
	}
	return r.same(got, sums)
}

// sumParts gives every rank 99 of the 396 rows that the windows show.
func sumParts(r *tableRank, round int) error {
	own, sums := addends(r.c.Rank(), round)
	cols, err := r.give(own)
	if err != nil {
		return err
	}
	defer columns.Release(cols)
	got, err := r.t.ReduceScatter(context.Background(), sumTypes, cols, collective.Sum)
	if err != nil {
		return err
	}
	from := int64(99 * r.c.Rank()) // and behind the five that the windows leave out, which same does too
	for i, a := range sums {
		sums[i] = array.NewSlice(a, from, from+5+99)
		a.Release()
	}
	return r.same(got, sums)
}
