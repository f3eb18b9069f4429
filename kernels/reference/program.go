package reference

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// apply calls the Go function for one row after another.
func apply(ctx context.Context, s device.Stream, f *kernels.Function, args []kernels.Datum) (*memory.Column, error) {
	t := f.Result()
	out := make([]byte, 8)
	return kernels.BuildColumn(ctx, s, t, rows(args...), func(i int64) (kernels.Scalar, error) {
		values := make([][]byte, len(args))
		for k, a := range args {
			v := at(a, i)
			if !v.Valid() {
				return kernels.Null(t), nil
			}
			values[k] = kernels.Bytes(v, 0, 1)
		}
		clear(out)
		err := f.Run(1, out, values)
		return scalarOfBits(t, binary.LittleEndian.Uint64(out)), err
	})
}

// scalarOfBits is a value of a fixed width of up to 64 bits.
func scalarOfBits(t arrow.DataType, bits uint64) kernels.Scalar {
	if kernels.FloatTypes.Has(t.ID()) {
		return kernels.Int64(int64(bits)).As(t)
	}
	return kernels.Int(t, int64(bits))
}

// evaluate runs the reference kernels step by step.
func evaluate(ctx context.Context, s device.Stream, p *kernels.Program, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	b := &kernels.Backend{Device: s.Device(), Set: New()}
	return b.EvaluateSteps(ctx, s, p, rows, columns)
}
