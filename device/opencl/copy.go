package opencl

import (
	"runtime"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// side is a range of a buffer on one side of a copy: bytes of the host, or a
// cl_mem of a device with an offset.
type side struct {
	bytes  []byte
	core   *core // nil for the host
	mem    handle
	offset int64
}

// side checks the range [offset, offset+n) of a buffer.
func (s *stream) side(call string, b *memory.Buffer, offset, n int64) (side, error) {
	d := s.device
	if b == nil {
		return side{}, d.mismatch(call, "no buffer given")
	}
	if offset < 0 || n < 0 || offset > b.Len()-n {
		return side{}, d.mismatch(call, "%d bytes from %d of a buffer of %d", n, offset, b.Len())
	}
	if b.Place().HostAccessible() {
		return side{bytes: b.Bytes()[offset : offset+n]}, nil
	}
	c := d.core.find(b.Place())
	if c == nil {
		return side{}, d.mismatch(call, "a buffer on %s", b.Place())
	}
	mem, start := b.Handle()
	return side{core: c, mem: mem, offset: start + offset}, nil
}

func (s *stream) Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error {
	const call = "copy"
	to, err := s.side(call, dst, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := s.side(call, src, srcOffset, n)
	if err != nil {
		return err
	}
	o := &op{call: call}
	pin := &runtime.Pinner{} // the driver keeps addresses of host memory beyond the call
	c := s.device.core
	switch {
	case n == 0:
		o.run = func() error { return nil }
	case to.core == nil && from.core == nil:
		o.run = func() error { copy(to.bytes, from.bytes); return nil }
	case to.core == c && from.core == nil:
		pin.Pin(unsafe.SliceData(from.bytes))
		o.issue = func() (handle, error) {
			event, st := c.drv.enqueueWriteBuffer(s.queue, to.mem, uintptr(to.offset), from.bytes)
			return c.enqueued("clEnqueueWriteBuffer", event, st)
		}
	case to.core == nil && from.core == c:
		pin.Pin(unsafe.SliceData(to.bytes))
		o.issue = func() (handle, error) {
			event, st := c.drv.enqueueReadBuffer(s.queue, from.mem, uintptr(from.offset), to.bytes)
			return c.enqueued("clEnqueueReadBuffer", event, st)
		}
	case to.core == c && from.core == c && (to.mem != from.mem || to.offset+n <= from.offset || from.offset+n <= to.offset):
		o.issue = func() (handle, error) {
			event, st := c.drv.enqueueCopyBuffer(s.queue, from.mem, to.mem, uintptr(from.offset), uintptr(to.offset), uintptr(n))
			return c.enqueued("clEnqueueCopyBuffer", event, st)
		}
	default: // between devices, or onto itself: by way of the host
		o.run = func() error { return through(to, from, n) }
	}
	dst.Retain()
	src.Retain()
	o.after = func() {
		pin.Unpin()
		dst.Release()
		src.Release()
	}
	return s.give(o)
}

// enqueued is what an issue returns.
func (c *core) enqueued(call string, event handle, st status) (handle, error) {
	if st != success {
		return 0, c.failed(call, st)
	}
	return event, nil
}

// through copies by way of a piece of host memory at a time. Both sides may be
// of one buffer: then the pieces go in the order that keeps what is still to be
// read, as Go's copy does.
func through(to, from side, n int64) error {
	const piece = 16 << 20
	size := min(n, piece)
	stage, err := memory.New(stager(to, from), size)
	if err != nil {
		return err
	}
	defer stage.Release()
	backwards := to.core == from.core && to.mem == from.mem && to.offset > from.offset
	for done := int64(0); done < n; {
		k := min(size, n-done)
		at := done
		if backwards {
			at = n - done - k
		}
		if err := from.read(stage.Bytes()[:k], at); err != nil {
			return err
		}
		if err := to.write(stage.Bytes()[:k], at); err != nil {
			return err
		}
		done += k
	}
	return nil
}

// stager is pinned memory of one of the devices.
func stager(to, from side) memory.Allocator {
	if from.core != nil {
		return from.core.pinned
	}
	return to.core.pinned
}

func (f side) read(to []byte, at int64) error {
	if f.core == nil {
		copy(to, f.bytes[at:])
		return nil
	}
	event, st := f.core.drv.enqueueReadBuffer(f.core.queue, f.mem, uintptr(f.offset+at), to)
	if st != success {
		return f.core.failed("clEnqueueReadBuffer", st)
	}
	return f.core.wait("copy", event, nil)
}

func (t side) write(from []byte, at int64) error {
	if t.core == nil {
		copy(t.bytes[at:], from)
		return nil
	}
	event, st := t.core.drv.enqueueWriteBuffer(t.core.queue, t.mem, uintptr(t.offset+at), from)
	if st != success {
		return t.core.failed("clEnqueueWriteBuffer", st)
	}
	return t.core.wait("copy", event, nil)
}

func (s *stream) Fill(dst *memory.Buffer, offset, n int64, value byte) error {
	const call = "fill"
	to, err := s.side(call, dst, offset, n)
	if err != nil {
		return err
	}
	c := s.device.core
	if to.core != nil && to.core != c {
		return s.device.mismatch(call, "a buffer on %s", dst.Place())
	}
	o := &op{call: call}
	switch {
	case n == 0:
		o.run = func() error { return nil }
	case to.core == nil:
		o.run = func() error { set(to.bytes, value); return nil }
	default:
		o.issue = func() (handle, error) { return s.fill(to, n, value) }
	}
	dst.Retain()
	o.after = dst.Release
	return s.give(o)
}

// fill sets whole words of 16 bytes at once, and what is beside them byte by
// byte: drivers fill at the speed of memory only with wide patterns.
func (s *stream) fill(to side, n int64, value byte) (handle, error) {
	const wide = 16
	c := s.device.core
	pattern := make([]byte, wide)
	set(pattern, value)
	head := min(n, -to.offset&(wide-1))
	body := (n - head) &^ (wide - 1)
	var last handle
	at := to.offset
	for _, part := range []struct{ n, pattern int64 }{{head, 1}, {body, wide}, {n - head - body, 1}} {
		if part.n == 0 {
			continue
		}
		event, st := c.drv.enqueueFillBuffer(s.queue, to.mem, pattern[:part.pattern], uintptr(at), uintptr(part.n))
		if last != 0 {
			c.drv.releaseEvent(last) // in order: the last part is done last
		}
		if st != success {
			return 0, c.failed("clEnqueueFillBuffer", st)
		}
		last = event
		at += part.n
	}
	return last, nil
}

// set sets all bytes to value, at the speed of memory.
func set(to []byte, value byte) {
	if len(to) == 0 {
		return
	}
	to[0] = value
	for done := 1; done < len(to); done *= 2 {
		copy(to[done:], to[:done])
	}
}
