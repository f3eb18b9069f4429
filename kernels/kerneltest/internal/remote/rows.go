package remote

import (
	"context"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// gatherRows is the reference's GatherRows as work of the stream: it is called for each
// batch of a training, and copying the columns to the host each time would be most of
// what a test does. As on a graphics card the call returns before anything is there.
func (x *crossing) gatherRows(_ context.Context, far device.Stream, columns []*memory.Column, rows *memory.Column, to kernels.RowsInto) error {
	var given []any
	add := func(b *memory.Buffer) int {
		if b == nil {
			return -1
		}
		given = append(given, b)
		return len(given) - 1
	}
	add(to.Values.Data)
	mask := add(to.Mask.Data)
	var parts []memory.Parts // the columns may be gone when it runs
	var at [][2]int
	for _, c := range append([]*memory.Column{rows}, columns...) {
		parts = append(parts, memory.Parts{Type: c.Type(), Len: c.Len(), Offset: c.Offset(), Nulls: c.NullCount()})
		at = append(at, [2]int{add(c.Buffer(0)), add(c.Buffer(1))})
	}
	run := func(ctx context.Context, _ device.Group, args []any) error {
		s, err := x.host.NewStream()
		if err != nil {
			return err
		}
		defer s.Close() // which was given nothing
		time.Sleep(latency)
		buffer := func(i int) *memory.Buffer {
			if i < 0 {
				return nil
			}
			return args[i].(*memory.Buffer).Retain()
		}
		here := make([]*memory.Column, len(parts))
		defer func() {
			for _, c := range here {
				c.Release()
			}
		}()
		for i, p := range parts {
			p.Buffers = []*memory.Buffer{buffer(at[i][0]), buffer(at[i][1])}
			if here[i], err = memory.NewColumn(p); err != nil {
				return err
			}
		}
		into := to
		into.Values.Data = args[0].(*memory.Buffer)
		if mask >= 0 {
			into.Mask.Data = args[mask].(*memory.Buffer)
		}
		return reference.New().GatherRows.Func(ctx, s, here[1:], here[0], into)
	}
	m, err := far.Device().LoadModule(context.Background(), device.Source{Name: "gather_rows", Host: map[string]device.HostFunction{"gather_rows": run}})
	if err != nil {
		return err
	}
	f, err := m.Function("gather_rows")
	if err != nil {
		return err
	}
	return far.Launch(f, device.Grid{Groups: [3]int64{1}}, given...)
}
