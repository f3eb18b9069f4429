package kerneltest

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// transfer copies a column, window and all, into memory of another place.
func transfer(s device.Stream, to memory.Allocator, c *memory.Column) (*memory.Column, error) {
	p := memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount(), Place: to.Place()}
	fail := func(err error) (*memory.Column, error) {
		for _, b := range p.Buffers {
			b.Release()
		}
		for _, child := range p.Children {
			child.Release()
		}
		return nil, err
	}
	last := 2
	for last >= 0 && c.Buffer(last) == nil {
		last--
	}
	for i := range last + 1 {
		from := c.Buffer(i)
		p.Buffers = append(p.Buffers, nil)
		if from == nil {
			continue
		}
		b, err := memory.New(to, from.Len())
		if err != nil {
			return fail(err)
		}
		p.Buffers[i] = b
		if err := s.Copy(b, 0, from, 0, from.Len()); err != nil {
			return fail(err)
		}
	}
	for i := range c.NumChildren() {
		child, err := transfer(s, to, c.Child(i))
		if err != nil {
			return fail(err)
		}
		p.Children = append(p.Children, child)
	}
	if c.Dictionary() != nil {
		d, err := transfer(s, to, c.Dictionary())
		if err != nil {
			return fail(err)
		}
		p.Dictionary = d
	}
	if err := s.Wait(context.Background()); err != nil {
		p.Dictionary.Release()
		return fail(err)
	}
	return memory.NewColumn(p)
}

// toHost gives a result's columns in host memory, in place of its own.
func toHost(e *Env, r Result) (Result, error) {
	if e.Device.Place().HostAccessible() {
		return r, nil
	}
	defer r.Release()
	host := Result{Values: r.Values}
	for _, c := range r.Columns {
		if c == nil {
			host.Columns = append(host.Columns, nil)
			continue
		}
		h, err := transfer(e.Stream, memory.Heap, c)
		if err != nil {
			host.Release()
			return Result{}, err
		}
		host.Columns = append(host.Columns, h)
	}
	return host, nil
}
