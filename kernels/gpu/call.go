package gpu

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// group is the number of work-items of a work-group: GROUP in the kernels.
const group = 256

// call is one call of a kernel: its stream, its scratch memory, and its first
// failure, after which every method does nothing, so that a host side reads as
// the list of its steps. `defer c.end(&err)` gives everything back.
type call struct {
	e   *Engine
	ctx context.Context
	s   device.Stream
	err error

	scratch []*memory.Buffer // given back at the end
	results []*memory.Buffer // given back at the end unless a column took them
	columns []*memory.Column // likewise
}

func (e *Engine) begin(ctx context.Context, s device.Stream) *call {
	return &call{e: e, ctx: ctx, s: s}
}

// end gives scratch memory back, results too when the call failed, and puts
// the call's failure into *err, unless there is one.
func (c *call) end(err *error) {
	if *err == nil {
		*err = c.err
	}
	for _, b := range c.scratch {
		b.Release() // launches hold what they use until they are done
	}
	for _, b := range c.results {
		b.Release()
	}
	for _, col := range c.columns {
		col.Release()
	}
	c.scratch, c.results, c.columns = nil, nil, nil
}

// fail keeps the first failure.
func (c *call) fail(err error) {
	if c.err == nil && err != nil {
		c.err = err
	}
}

// failf is fail with a new error of a kind.
func (c *call) failf(kind error, format string, args ...any) {
	c.fail(device.Errorf(kind, c.e.dev.Name(), "", format, args...))
}

// ok reports that nothing has failed, the end of the context included.
func (c *call) ok() bool {
	if c.err == nil {
		c.err = device.Canceled(c.ctx, c.e.dev.Name(), "")
	}
	return c.err == nil
}

// temp is scratch memory of n bytes, undefined, until the call's end.
func (c *call) temp(n int64) *memory.Buffer {
	b := c.allocate(n)
	if b != nil {
		c.scratch = append(c.scratch, b)
	}
	return b
}

// zeroed is scratch memory of n zero bytes.
func (c *call) zeroed(n int64) *memory.Buffer {
	b := c.temp(n)
	c.fill(b, 0)
	return b
}

// result is memory of n bytes, undefined, for a column that the call returns.
func (c *call) result(n int64) *memory.Buffer {
	b := c.allocate(n)
	if b != nil {
		c.results = append(c.results, b)
	}
	return b
}

func (c *call) allocate(n int64) *memory.Buffer {
	if !c.ok() {
		return nil
	}
	b, err := memory.New(c.s.Device().Memory(), memory.Padded(max(n, 1))) // no driver has allocations of nothing, and bitmaps are written by words
	if err != nil {
		c.fail(err)
		return nil
	}
	return b
}

// drop gives scratch memory back before the end.
func (c *call) drop(b *memory.Buffer) {
	for i, have := range c.scratch {
		if have == b && b != nil {
			c.scratch = append(c.scratch[:i], c.scratch[i+1:]...)
			b.Release()
			return
		}
	}
}

// fill sets every byte of b.
func (c *call) fill(b *memory.Buffer, value byte) {
	if c.ok() && b != nil {
		c.fail(c.s.Fill(b, 0, b.Len(), value))
	}
}

// copy copies n bytes on the device.
func (c *call) copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) {
	if n > 0 && c.ok() {
		c.fail(c.s.Copy(dst, dstOffset, src, srcOffset, n))
	}
}

// upload makes scratch memory with the bytes given.
func (c *call) upload(content []byte) *memory.Buffer {
	b := c.temp(int64(len(content)))
	c.write(b, 0, content)
	return b
}

// write copies bytes from the host into a buffer of the device.
func (c *call) write(dst *memory.Buffer, offset int64, content []byte) {
	if len(content) == 0 || !c.ok() {
		return
	}
	h, err := memory.New(c.s.Device().Pinned(), int64(len(content)))
	if err != nil {
		c.fail(err)
		return
	}
	copy(h.Bytes(), content)
	c.fail(c.s.Copy(dst, offset, h, 0, int64(len(content))))
	h.Release() // the copy holds it
}

// read copies n bytes back and waits for them and all work before.
func (c *call) read(b *memory.Buffer, offset, n int64) []byte {
	out := make([]byte, n)
	if n == 0 || !c.ok() {
		return out
	}
	h, err := memory.New(c.s.Device().Pinned(), n)
	if err != nil {
		c.fail(err)
		return out
	}
	defer h.Release()
	if err := c.s.Copy(h, 0, b, offset, n); err != nil {
		c.fail(err)
		return out
	}
	if err := c.s.Wait(c.ctx); err != nil {
		c.fail(err)
		return out
	}
	copy(out, h.Bytes())
	return out
}

// readInt64 reads element i of a buffer of 64-bit integers.
func (c *call) readInt64(b *memory.Buffer, i int64) int64 {
	return int64(binary.LittleEndian.Uint64(c.read(b, 8*i, 8)))
}

// launch runs an entry of a module over groups of 256 items, each in one
// dimension. The module's variant is appended to the entry's name, as K does.
func (c *call) launch(module, entry string, groups int64, args ...any) {
	c.launchGrid(module, entry, device.Grid{Groups: [3]int64{groups}, Items: [3]int{group}}, args...)
}

// launchGrid is launch with another grid. Nothing is launched for a grid
// without groups.
func (c *call) launchGrid(module, entry string, grid device.Grid, args ...any) {
	if _, variant, ok := strings.Cut(module, "."); ok {
		entry += "_" + variant
	}
	c.run(module, entry, func() (device.Source, error) { return c.e.dialect.Source(module) }, grid, args...)
}

func (c *call) run(module, entry string, source func() (device.Source, error), grid device.Grid, args ...any) {
	if grid.Groups[0] == 0 || !c.ok() {
		return
	}
	f, err := c.e.function(c.ctx, module, entry, source)
	if err != nil {
		c.fail(err)
		return
	}
	flat := make([]any, 0, len(args)+8)
	for _, a := range args {
		if v, ok := a.(vector); ok {
			flat = append(flat, device.Base{Buffer: v.buffer}, v.at)
			continue
		}
		flat = append(flat, a)
	}
	c.fail(c.s.Launch(f, grid, flat...))
}

// groupsFor is the number of groups for n elements, per of them for each group.
func groupsFor(n, per int64) int64 { return (n + per - 1) / per }

// strided is the number of groups of a kernel that strides over n elements:
// enough to fill the device several times over, not more than are needed.
func (c *call) strided(n int64) int64 {
	units := max(c.e.dev.Info().Units, 1)
	return min(groupsFor(n, group), int64(units)*16)
}
