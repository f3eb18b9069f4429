package kerneltest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Env is where a call runs: a backend and what to call it with.
type Env struct {
	*kernels.Backend
	Ctx    context.Context
	Stream device.Stream
	side   *side
	given  []arrow.DataType // of what the call was made with
	err    error            // of On
}

// On is a host column on the call's device. Where it cannot be brought there it
// is nil, and the call is taken as failed. One that is there stays what it is.
func (e *Env) On(c *memory.Column) *memory.Column {
	if c == nil {
		return nil
	}
	e.given = append(e.given, c.Type())
	if e.side.onHost() || c.Place() == e.Device.Place() {
		return c
	}
	moved, err := e.side.there(c)
	if err != nil {
		e.err = err
	}
	return moved
}

// onAll is On for a list of columns.
func (e *Env) onAll(cols []*memory.Column) []*memory.Column {
	there := make([]*memory.Column, len(cols))
	for i, c := range cols {
		there[i] = e.On(c)
	}
	return there
}

// Datum is a column on the call's device, or a scalar as it is.
func (e *Env) Datum(d kernels.Datum) kernels.Datum {
	switch x := d.(type) {
	case *memory.Column:
		return e.On(x)
	case kernels.Scalar:
		e.given = append(e.given, x.Type())
	}
	return d
}

// copyOf is a copy of a column on the call's device, for the call to write to.
func (e *Env) copyOf(c *memory.Column) (*memory.Column, error) {
	e.given = append(e.given, c.Type())
	to := e.Device.Memory()
	if !e.side.onHost() {
		to = e.side.arguments
	}
	return device.Move(context.Background(), e.Stream, to, c)
}

// call runs f once on a stream of its own.
func (b *side) call(ctx context.Context, f func(*Env) (Result, error)) (r Result, err error) {
	stream, err := b.backend.NewStream()
	if err != nil {
		return Result{}, err
	}
	e := &Env{Backend: b.backend, Ctx: ctx, Stream: stream, side: b}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if e.err != nil { // whatever came of it
			r.Release()
			r, err = Result{}, fmt.Errorf("moving an argument to the device: %w", e.err)
		}
		if closed := stream.Close(); err == nil && closed != nil {
			r.Release()
			r, err = Result{}, closed
		}
	}()
	r, err = f(e)
	if err == nil {
		if err = stream.Wait(context.Background()); err != nil {
			r.Release()
			r = Result{}
		}
	}
	if err == nil {
		r, err = toHost(e, r)
	}
	if err != nil && b.lacks(err, e.given) {
		err = &lacking{err}
	}
	return r, err
}

// toHost gives a result's columns in host memory, in place of its own.
func toHost(e *Env, r Result) (Result, error) {
	if e.side.onHost() {
		return r, nil
	}
	defer r.Release()
	host := Result{Values: r.Values}
	for i, c := range r.Columns {
		if c == nil {
			host.Columns = append(host.Columns, nil)
			continue
		}
		h, err := device.Move(context.Background(), e.Stream, memory.Heap, c)
		if err == nil && c.Place() != e.Device.Place() {
			h.Release()
			err = fmt.Errorf("column %d of the result lives on %s", i, c.Place())
		}
		if err != nil {
			host.Release()
			return Result{}, err
		}
		host.Columns = append(host.Columns, h)
	}
	return host, nil
}
