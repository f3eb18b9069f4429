package cpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// apply is the CPU's ApplyFunc: the Go function over morsels, on all cores.
func apply(ctx context.Context, s device.Stream, f *kernels.Function, args []kernels.Datum) (*memory.Column, error) {
	var cols []*memory.Column
	for _, a := range args {
		switch a := a.(type) {
		case *memory.Column:
			cols = append(cols, a)
		case kernels.Scalar:
			if !a.Valid() {
				return nullColumn(s, f.Result(), applyRows(args))
			}
		}
	}
	n := cols[0].Len()
	o := newOut(s, f.Result(), n)
	err := o.nullsOf(cols...)
	if err == nil {
		err = o.values()
	}
	if err == nil {
		width := int64(memory.Width(f.Result()))
		err = parallel(ctx, n, func(_ int, sp span) error {
			values := make([][]byte, len(args))
			for i, a := range args {
				values[i] = kernels.Bytes(a, sp.from, sp.to-sp.from)
			}
			return f.RunIn(ctx, sp.to-sp.from, o.parts.Buffers[1].Bytes()[sp.from*width:sp.to*width], values)
		})
	}
	return o.column(err)
}

// applyRows is the number of rows of the first column among args.
func applyRows(args []kernels.Datum) int64 {
	for _, a := range args {
		if c, ok := a.(*memory.Column); ok {
			return c.Len()
		}
	}
	return 0
}
