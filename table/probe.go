package table

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// probeStep probes a built right side with left rows. Right and full joins give the right rows
// without a match behind all others.
type probeStep struct {
	r                   *runner
	node                *joinNode
	right               exec.Source
	leftKeys, rightKeys *expr.Bound
	where               *expr.Bound    // over the columns of the node's scope
	ready               *expr.Prepared // of where

	build *Batch           // the right side
	keys  []*memory.Column // its keys
	table kernels.JoinTable

	lock sync.Mutex
	seen []memory.Bitmap // right rows that matched, of each worker, in right and full joins
}

// Prepare does nothing: whether the join is a step is known by prepare.
func (o *probeStep) Prepare(context.Context) error { return nil }

func (o *probeStep) Begin(context.Context) (exec.State, error) {
	if o.node.kind == Cross {
		return crossState{o}, nil
	}
	s := probeState{probeStep: o}
	if o.Tails() {
		s.own = make(memory.Bitmap, memory.BitmapBytes(o.build.Len()))
		o.lock.Lock()
		defer o.lock.Unlock()
		o.seen = append(o.seen, s.own)
	}
	return s, nil
}

func (o *probeStep) Close() {
	o.right.Close()
	o.ready.Release()
	o.build.Release()
	releaseColumns(o.keys)
	if o.table != nil {
		o.table.Release()
	}
}

// prepare reads the right side, and builds it unless it says that the join is one of
// whole columns.
func (o *probeStep) prepare(ctx context.Context) (way wholeWay, err error) {
	if err := o.read(ctx); err != nil || o.node.kind == Cross {
		return wholeNever, err
	}
	if err := o.hand(); err != nil {
		return wholeNever, err
	}
	if way = o.wholeWay(); way == wholeIfRepeated {
		if err := o.buildTable(ctx); err != nil {
			return wholeNever, err
		}
		u, ok := o.table.(kernels.UniqueTable)
		if !ok || u.Unique() {
			return wholeNever, nil
		}
		o.table.Release()
		o.table, way = nil, wholeAlways
	}
	if way == wholeNever {
		err = o.buildTable(ctx)
	}
	return way, err
}

// read puts the right side in one batch, and makes what probing needs beside it.
func (o *probeStep) read(ctx context.Context) error {
	batches, err := drain(ctx, o.right)
	if err != nil {
		return err
	}
	if o.build, err = o.r.concat(ctx, o.node.right.schema(), batches); err != nil || o.node.kind == Cross {
		return err
	}
	if o.keys, err = o.rightKeys.EvalAll(ctx, o.r.backend, o.r.stream, o.build.Len(), o.build.Columns()); err != nil {
		return err
	}
	if o.where != nil {
		o.ready, err = o.where.Prepare(ctx, o.r.backend, o.r.stream)
	}
	return err
}

func (o *probeStep) buildTable(ctx context.Context) (err error) {
	o.table, err = o.r.backend.JoinBuild(ctx, o.r.stream, o.keys, kernels.JoinOptions{NullsEqual: o.node.nullsEqual, AnyOrder: o.node.anyOrder})
	if u, ok := o.table.(kernels.UniqueTable); ok && err == nil {
		o.r.unique.put(o.node, u.Unique())
	}
	names := make([]string, len(o.node.keys))
	for i, k := range o.node.keys {
		names[i] = k.right
	}
	return lacking(err, "join by a key", names)
}

// probeState is a probeStep, which is every worker's, and the right rows that this worker matched.
type probeState struct {
	*probeStep
	own memory.Bitmap // nil where nobody asks
}

func (s probeState) Close() {}

// Execute joins left rows, probeRows at a time, and fewer where memory is short.
func (s probeState) Execute(ctx context.Context, b *Batch, emit func(*Batch) error) error {
	defer b.Release()
	most := s.r.limit(probeRows)
	step := most
	for at := int64(0); at < b.Len(); {
		if err := device.Canceled(ctx, s.r.backend.Device.Name(), "join"); err != nil {
			return err
		}
		out, n, err := s.some(ctx, b, at, min(step, b.Len()-at))
		if errors.Is(err, device.ErrOutOfMemory) && n > 1 {
			step = n / 2
			if err := s.r.stream.Wait(ctx); err != nil { // what was launched holds the memory that it uses
				return wrapError("join", err)
			}
			continue
		}
		if err != nil {
			return wrapError("join", err)
		}
		at += n
		if step < most && out.Len() < probePairs/4 {
			step *= 2
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// some joins n left rows from a row on.
func (s probeState) some(ctx context.Context, b *Batch, at, n int64) (*Batch, int64, error) {
	slice, err := b.Slice(at, n)
	if err != nil {
		return nil, n, err
	}
	defer slice.Release()
	out, err := s.probe(ctx, slice, s.own)
	return out, n, err
}

// probe matches some left rows, and marks the right rows that have a match in seen, if
// that is not nil.
func (o *probeStep) probe(ctx context.Context, b *Batch, seen memory.Bitmap) (*Batch, error) {
	mask, left, rows := exec.Mask(b), b.Columns(), b.Len()
	if mask != nil {
		if rows = countTrue(mask); rows == 0 {
			return o.r.empty(ctx, o.node.out)
		}
		var err error
		if left, err = o.r.selectedOf(ctx, b, mask, o.leftKeys); err != nil {
			return nil, err
		}
		defer releaseColumns(left)
	}
	keys, err := o.leftKeys.EvalAll(ctx, o.r.backend, o.r.stream, rows, left)
	if err != nil {
		return nil, err
	}
	kind := o.node.kind.kernel()
	switch {
	case o.where != nil: // which rows have a match is known after it
		kind = kernels.InnerJoin
	case o.node.kind == Right: // right rows without a match come at the end, once
		kind = kernels.InnerJoin
	case o.node.kind == Full:
		kind = kernels.LeftJoin
	}
	options := kernels.JoinOptions{NullsEqual: o.node.nullsEqual, AnyOrder: o.node.anyOrder}
	if b.Len() > 1 {
		options.MaxPairs = probePairs
	}
	pairs, err := o.table.Probe(ctx, o.r.stream, keys, kind, options)
	releaseColumns(keys)
	if err != nil {
		return nil, err
	}
	defer pairs.Release()
	if o.where != nil {
		kept, err := o.matched(ctx, b, pairs)
		if err != nil {
			return nil, err
		}
		defer kept.Release()
		return o.gather(ctx, b, o.build, kept)
	}
	if seen != nil {
		right, err := o.r.backend.OnHost(ctx, o.r.stream, pairs.Right)
		if err != nil {
			return nil, err
		}
		mark(seen, right)
		right.Release()
	}
	if mask != nil {
		return o.gatherSelected(ctx, b, mask, rows, pairs)
	}
	return o.gather(ctx, b, o.build, pairs)
}

// takesMasks reports whether left rows may come with their mask: their keys alone are gathered then, and
// of the other columns the rows with a match. Which rows have none is not known where a condition says it.
func (o *probeStep) takesMasks() bool {
	for _, out := range o.node.outputs { // a key that is cast may only be that of rows that stay
		if out.from == fromLeft|fromRight && !arrow.TypeEqual(typeOf(o.node.left, out.left), o.node.keyTypes[out.key]) {
			return false
		}
	}
	return o.where == nil && o.node.kind != Cross && o.r.onHost()
}

// gatherSelected is gather of pairs of the rows that a mask has.
func (o *probeStep) gatherSelected(ctx context.Context, b *Batch, mask *memory.Column, rows int64, pairs *kernels.Pairs) (*Batch, error) {
	if identity(pairs.Left, rows) {
		kept, err := o.r.kept(ctx, b, mask, o.node.left.schema())
		if err != nil {
			return nil, err
		}
		defer kept.Release()
		return o.gather(ctx, kept, o.build, pairs)
	}
	all, err := exec.RowNumbers(o.r.backend.Device.Memory(), mask)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	left, err := o.r.backend.Take(ctx, o.r.stream, all, pairs.Left, kernels.TakeOptions{Trusted: true})
	if err != nil {
		return nil, err
	}
	defer left.Release()
	return o.gather(ctx, b, o.build, &kernels.Pairs{Left: left, Right: pairs.Right})
}

// gather is the result's columns for pairs of a left batch and a right one.
func (o *probeStep) gather(ctx context.Context, b, right *Batch, p *kernels.Pairs) (*Batch, error) {
	var columns []*memory.Column
	same := identity(p.Left, b.Len())
	for _, out := range o.node.outputs {
		var c *memory.Column
		var err error
		switch {
		case !out.onLeft():
			c, err = o.r.backend.Take(ctx, o.r.stream, right.ColumnNamed(out.right), p.Right, kernels.TakeOptions{Trusted: true})
		case out.onRight():
			c, err = o.sharedKey(ctx, b, p, out)
		case same:
			c = b.ColumnNamed(out.left).Retain()
		default:
			c, err = o.r.backend.Take(ctx, o.r.stream, b.ColumnNamed(out.left), p.Left, kernels.TakeOptions{Trusted: true})
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(o.node.out, p.Left.Len(), columns)
}

// identity reports whether rows are 0, 1, 2, … up to n: the rows as they stand.
func identity(rows *memory.Column, n int64) bool {
	if rows.Len() != n || rows.MayHaveNulls() || !rows.Place().HostAccessible() {
		return false
	}
	if rows.Type().ID() == arrow.UINT64 {
		return counts(memory.Values[uint64](rows))
	}
	return counts(memory.Values[uint32](rows))
}

func counts[T uint32 | uint64](values []T) bool {
	for i, v := range values {
		if v != T(i) {
			return false
		}
	}
	return true
}

// sharedKey is a key of both sides that has one name: in matched rows it is the
// same on both, elsewhere it is that of the side that has a row.
func (o *probeStep) sharedKey(ctx context.Context, b *Batch, p *kernels.Pairs, out joinOutput) (*memory.Column, error) {
	left, err := o.castLeft(ctx, b, out)
	if err != nil {
		return nil, err
	}
	l, err := o.r.backend.Take(ctx, o.r.stream, left, p.Left, kernels.TakeOptions{Trusted: true})
	left.Release()
	if err != nil || !p.Left.MayHaveNulls() {
		return l, err
	}
	defer l.Release()
	r, err := o.r.backend.Take(ctx, o.r.stream, o.keys[out.key], p.Right, kernels.TakeOptions{Trusted: true})
	if err != nil {
		return nil, err
	}
	defer r.Release()
	return o.r.backend.FillNull(ctx, o.r.stream, l, r)
}

func (o *probeStep) castLeft(ctx context.Context, b *Batch, out joinOutput) (*memory.Column, error) {
	c, t := b.ColumnNamed(out.left), o.node.keyTypes[out.key]
	if arrow.TypeEqual(c.Type(), t) {
		return c.Retain(), nil
	}
	return o.r.backend.Cast(ctx, o.r.stream, c, t, kernels.CastOptions{})
}
