package cuda

import (
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// The CUfunction_attribute values in use.
const (
	functionMaxThreads = 0
	functionLocal      = 1 // static local memory
	functionMaxDynamic = 8
)

// Launch runs a kernel. Number and sizes of the arguments are held against the
// kernel's parameters, and the grid against what GPU and kernel can do: what
// does not fit is an ErrMismatch and never memory overwritten. A buffer is an
// address, of the GPU or of pinned memory; an int or uint is 8 bytes.
func (s *stream) Launch(f device.Function, grid device.Grid, args ...any) error {
	d := s.device
	fn, ok := f.(*function)
	if !ok || fn == nil {
		return d.mismatch("launch", "a function (%T) that is not of CUDA", f)
	}
	if fn.module.device != d {
		return d.mismatch(fn.name, "the function was loaded for another device")
	}
	if err := fn.module.alive(fn.name); err != nil {
		return err
	}
	groups, items, err := d.grid(fn, grid)
	if err != nil {
		return err
	}
	params, err := d.params(fn, args)
	if err != nil {
		return err
	}
	if err := fn.module.use(fn.name); err != nil {
		return err
	}
	held := hold(args)
	return s.give(op{
		call:   fn.name,
		launch: true,
		run: func() error {
			return d.check(fn.name, d.in(func() code {
				if c := fn.allow(grid.Local); c != success {
					return c
				}
				return d.lib.driver.launch(fn.handle, groups, items, uint32(grid.Local), s.handle, params)
			}))
		},
		after: func() { drop(held); fn.module.drop() },
	})
}

func drop(held []*memory.Buffer) {
	for _, b := range held {
		b.Release()
	}
}

// grid checks how much is to be launched.
func (d *Device) grid(fn *function, grid device.Grid) (groups, items [3]uint32, err error) {
	x := &d.limits
	wrong := func() error {
		return d.mismatch(fn.name, "a grid of %v groups of %v items with %d bytes; up to %v of %v and %d in all with %d bytes can be",
			grid.Groups, grid.Items, grid.Local, x.groups, x.items, fn.maxItems, x.localOptIn)
	}
	n := uint64(1)
	for i := range 3 {
		g, t := max(1, grid.Groups[i]), max(1, grid.Items[i])
		if grid.Groups[i] < 0 || grid.Items[i] < 0 || g > int64(x.groups[i]) || t > x.items[i] {
			return groups, items, wrong()
		}
		high, low := bits.Mul64(n, uint64(t))
		if high != 0 || low > uint64(fn.maxItems) {
			return groups, items, wrong()
		}
		n = low
		groups[i], items[i] = uint32(g), uint32(t)
	}
	if grid.Local < 0 || int64(grid.Local) > x.localOptIn-fn.local {
		return groups, items, wrong()
	}
	return groups, items, nil
}

// allow makes the driver let a kernel have so much dynamic local memory; the
// context is current.
func (f *function) allow(local int) code {
	d := f.module.device
	if int64(local) <= d.limits.local-f.local {
		return success
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if local <= f.allowed {
		return success
	}
	c := d.lib.driver.funcSet(f.handle, functionMaxDynamic, local)
	if c == success {
		f.allowed = local
	}
	return c
}

// Occupancy is how many work-groups of so many items, with so many bytes of
// dynamic local memory each, one unit of the GPU runs at a time.
func Occupancy(f device.Function, items, local int) (int, error) {
	const call = "occupancy"
	fn, ok := f.(*function)
	if !ok || fn == nil {
		return 0, device.Errorf(device.ErrMismatch, "cuda", call, "a function (%T) that is not of CUDA", f)
	}
	d := fn.module.device
	if err := fn.module.alive(call); err != nil {
		return 0, err
	}
	if items < 1 || local < 0 {
		return 0, d.mismatch(call, "%d items with %d bytes", items, local)
	}
	var n int
	c := d.in(func() (c code) {
		n, c = d.lib.driver.occupancy(fn.handle, items, int64(local))
		return c
	})
	return n, d.check(call, c)
}
