package opencl

import (
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Launch checks everything in the call itself; what it refuses has no effect.
func (s *stream) Launch(f device.Function, grid device.Grid, args ...any) error {
	d := s.device
	fn, ok := f.(*function)
	if !ok || fn == nil {
		return d.mismatch("launch", "a function (%T) that is not OpenCL's", f)
	}
	if fn.module.device != d {
		return d.mismatch(fn.name, "the function was loaded for another device")
	}
	if err := fn.module.alive(fn.name); err != nil {
		return err
	}
	global, local, err := fn.extent(grid)
	if err != nil {
		return err
	}
	l := &launch{function: fn}
	if l.kernel, err = fn.take(); err != nil {
		return err
	}
	if err := l.set(grid, args); err != nil {
		l.end()
		return err
	}
	c := d.core
	return s.give(&op{call: fn.name, after: l.end, issue: func() (handle, error) {
		if err := device.Canceled(d.ctx, d.Name(), fn.name); err != nil {
			return 0, err
		}
		event, st := c.drv.enqueueNDRangeKernel(s.queue, l.kernel, global, local)
		l.put()
		return c.enqueued(fn.name, event, st)
	}})
}

// extent is the grid in work-items, in as many dimensions as it needs.
func (f *function) extent(grid device.Grid) (global, local []uintptr, err error) {
	d, p := f.module.device, f.module.device.core.proc
	dims, items := 1, int64(1)
	for i := range grid.Groups {
		if grid.Groups[i] < 0 || grid.Items[i] < 0 || grid.Local < 0 {
			return nil, nil, d.mismatch(f.name, "a grid of %v groups of %v items with %d bytes", grid.Groups, grid.Items, grid.Local)
		}
		groups, n := max(1, grid.Groups[i]), int64(max(1, grid.Items[i]))
		high, all := bits.Mul64(uint64(groups), uint64(n))
		if high != 0 || all > 1<<62 || p.maxItems[i] > 0 && n > p.maxItems[i] {
			return nil, nil, d.mismatch(f.name, "a grid of %v groups of %v items", grid.Groups, grid.Items)
		}
		if all > 1 {
			dims = i + 1
		}
		items *= n
		global, local = append(global, uintptr(all)), append(local, uintptr(n))
	}
	if total := mul(mul(int64(global[0]), int64(global[1])), int64(global[2])); total < 0 {
		return nil, nil, d.mismatch(f.name, "a grid of %v groups of %v items", grid.Groups, grid.Items)
	}
	if items > f.group {
		return nil, nil, d.mismatch(f.name, "groups of %d items, and %d are the most", items, f.group)
	}
	if p.info.LocalMemory > 0 && f.local+int64(grid.Local) > p.info.LocalMemory {
		return nil, nil, d.mismatch(f.name, "%d bytes of local memory, and the device has %d", f.local+int64(grid.Local), p.info.LocalMemory)
	}
	return global[:dims], local[:dims], nil
}

// mul is a product, negative when it is too large or a factor was.
func mul(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if a < 0 || b < 0 || high != 0 || low > 1<<62 {
		return -1
	}
	return int64(low)
}

// launch is a kernel with its arguments, and what they hold.
type launch struct {
	function *function
	kernel   handle // 0 once it was put back
	held     []*memory.Buffer
	parts    []handle // sub-buffers
}

// put gives the kernel back for the next launch.
func (l *launch) put() {
	if l.kernel != 0 {
		l.function.put(l.kernel)
		l.kernel = 0
	}
}

// end gives everything back.
func (l *launch) end() {
	l.put()
	for _, part := range l.parts {
		l.function.module.device.core.drv.releaseMemObject(part)
	}
	for _, b := range l.held {
		b.Release()
	}
	l.parts, l.held = nil, nil
}

// set gives the arguments to the kernel.
func (l *launch) set(grid device.Grid, args []any) error {
	f := l.function
	d, drv := f.module.device, f.module.device.core.drv
	want := len(args)
	if grid.Local > 0 {
		want++
	}
	if want != f.args {
		return d.mismatch(f.name, "%d arguments for %d parameters", want, f.args)
	}
	for i, a := range args {
		if err := l.argument(uint32(i), a); err != nil {
			return err
		}
	}
	if grid.Local > 0 {
		if st := drv.setKernelArg(l.kernel, uint32(len(args)), uintptr(grid.Local), nil); st != success {
			return d.mismatch(f.name, "%d bytes of dynamic local memory: the last parameter is no local pointer (%v)", grid.Local, st)
		}
	}
	return nil
}

// argument sets one argument.
func (l *launch) argument(i uint32, a any) error {
	f := l.function
	d, c := f.module.device, f.module.device.core
	var st status
	var word uint64 // device and host are both little-endian, or the device was refused
	at := unsafe.Pointer(&word)
	size := uintptr(8)
	switch v := a.(type) {
	case *memory.Buffer:
		if done, err := l.shared(i, v, false); done {
			return err
		}
		mem, err := l.buffer(int(i), v, false)
		if err != nil {
			return err
		}
		word = uint64(mem)
		size = unsafe.Sizeof(mem)
	case device.Base:
		if done, err := l.shared(i, v.Buffer, true); done {
			return err
		}
		mem, err := l.buffer(int(i), v.Buffer, true)
		if err != nil {
			return err
		}
		word = uint64(mem)
		size = unsafe.Sizeof(mem)
	case int8:
		*(*int8)(at), size = v, 1
	case uint8:
		*(*uint8)(at), size = v, 1
	case int16:
		*(*int16)(at), size = v, 2
	case uint16:
		*(*uint16)(at), size = v, 2
	case int32:
		*(*int32)(at), size = v, 4
	case uint32:
		*(*uint32)(at), size = v, 4
	case float32:
		*(*float32)(at), size = v, 4
	case int64:
		*(*int64)(at) = v
	case uint64:
		word = v
	case float64:
		*(*float64)(at) = v
	default:
		return d.mismatch(f.name, "argument %d is a %T: it must be a buffer, a Base, or a number of fixed size", i, a)
	}
	if st = c.drv.setKernelArg(l.kernel, i, size, at); st != success {
		return device.Errorf(device.ErrMismatch, d.Name(), f.name, "argument %d, a %T: %v", i, a, st)
	}
	runtime.KeepAlive(&word)
	return nil
}

// buffer is the cl_mem of a buffer, or of its allocation, which is kept until
// the launch is done. A buffer of no bytes is a null pointer.
func (l *launch) buffer(i int, b *memory.Buffer, base bool) (handle, error) {
	f := l.function
	d, p := f.module.device, f.module.device.core.proc
	if b == nil {
		return 0, nil
	}
	if b.Place() != p.place() {
		return 0, d.mismatch(f.name, "argument %d is a buffer on %s", i, b.Place())
	}
	mem, offset := b.Handle()
	l.held = append(l.held, b.Retain())
	if base || offset == 0 || b.Len() == 0 {
		return mem, nil
	}
	if offset%p.alignment != 0 {
		return 0, d.mismatch(f.name, "argument %d begins at byte %d of its allocation, which is no multiple of %d: pass a Base", i, offset, p.alignment)
	}
	part, st := p.drv.createSubBuffer(mem, memReadWrite, uintptr(offset), uintptr(b.Len()))
	if st != success {
		return 0, d.core.failed("clCreateSubBuffer", st)
	}
	l.parts = append(l.parts, part)
	return part, nil
}
