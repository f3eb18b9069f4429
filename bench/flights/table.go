package flights

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// states reads the rows of the query's result.
func states(ctx context.Context, t *table.Table) ([]State, error) {
	want := []func(arrow.Type) bool{isText, arrow.IsInteger, isFloat, arrow.IsInteger, isFloat}
	for i, f := range t.Schema().Fields() {
		if i >= len(want) || !want[i](f.Type.ID()) {
			return nil, fmt.Errorf("column %d of the answer, %s, is of type %s", i, f.Name, f.Type)
		}
	}
	if b := t.Backend(); !b.Device.Place().HostAccessible() {
		s, err := b.NewStream()
		if err != nil {
			return nil, err
		}
		defer s.Close() // its failures are those of the copies waited for
		if t, _, err = toHost(b, s).copyTable(ctx, t); err != nil {
			return nil, err
		}
		defer t.Release()
	}
	var out []State
	for _, chunk := range t.Chunks() {
		for i := range chunk.Len() {
			if i&0xfff == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			at := func(column int) kernels.Scalar { return kernels.ScalarAt(chunk.Column(column), i) }
			out = append(out, State{at(0).Text(), at(1).Int64(), at(2).Float64(), at(3).Int64(), at(4).Float64()})
		}
	}
	return out, nil
}

// bytesOf is the size of a table's values, offsets and texts: what a query that
// reads every column once has to read.
func bytesOf(t *table.Table) int64 {
	n := int64(0)
	for _, chunk := range t.Chunks() {
		for i := range t.NumColumns() {
			c := chunk.Column(i)
			switch memory.LayoutOf(c.Type()) {
			case memory.LayoutBinary:
				o := memory.Offsets[int32](c)
				n += 4*c.Len() + int64(o[c.Len()]-o[0])
			case memory.LayoutLargeBinary:
				o := memory.Offsets[int64](c)
				n += 8*c.Len() + o[c.Len()] - o[0]
			default:
				n += int64(memory.Width(c.Type())) * c.Len()
			}
		}
	}
	return n
}

// once is report.Measure without a warm-up, for what takes long and is not
// there to be fast.
func once(ctx context.Context, _ int, f func(context.Context) error) (report.Timing, error) {
	start := time.Now()
	err := f(ctx)
	return report.Timing{Seconds: []float64{time.Since(start).Seconds()}}, err
}
