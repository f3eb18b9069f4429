package cuda

import (
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// span is a range of bytes as a copy sees it: on a GPU, or in host memory.
type span struct {
	at      address // on a GPU
	ordinal int
	bytes   []byte // on the host
	onHost  bool
	pinned  bool
}

func (s *span) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s.bytes)) }

// span checks the range [offset, offset+n) of a buffer.
func (d *Device) span(call string, b *memory.Buffer, offset, n int64) (span, error) {
	if b == nil {
		return span{}, d.mismatch(call, "no buffer given")
	}
	if offset < 0 || n < 0 || offset > b.Len()-n {
		return span{}, d.mismatch(call, "%d bytes from %d of a buffer of %d", n, offset, b.Len())
	}
	switch place := b.Place(); {
	case place.Type == memory.CUDA:
		base, begin := b.Handle()
		return span{at: base + uintptr(begin+offset), ordinal: int(place.ID)}, nil
	case place.HostAccessible():
		return span{bytes: b.Bytes()[offset : offset+n], onHost: true, pinned: place.Type != memory.CPU}, nil
	default:
		return span{}, d.mismatch(call, "a buffer on %s", place)
	}
}

// Copy copies between host memory and GPUs of this driver. Memory of Pinned and
// of Register is copied by the GPU while the caller goes on; other host memory
// goes through the driver's staging buffer in the stream's own goroutine. A
// copy within host memory waits for the work before it and then runs on the
// host. A copy between two GPUs needs a device open on each; it is direct where
// EnablePeer was called and can be, else the driver stages it.
func (s *stream) Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error {
	const call = "copy"
	d := s.device
	to, err := d.span(call, dst, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := d.span(call, src, srcOffset, n)
	if err != nil {
		return err
	}
	o := op{call: call, after: func() { dst.Release(); src.Release() }}
	drv := d.lib.driver
	give := func(f func() code) func() error { return func() error { return d.check(call, d.in(f)) } }
	switch {
	case n == 0:
		o.run = func() error { return nil }
	case to.onHost && from.onHost:
		o.host = true
		o.run = func() error { copy(to.bytes, from.bytes); return nil }
	case from.onHost:
		o.slow = !from.pinned
		o.run = give(func() code { return drv.copyToDevice(to.at, from.pointer(), n, s.handle) })
	case to.onHost:
		o.slow = !to.pinned
		o.run = give(func() code { return drv.copyToHost(to.pointer(), from.at, n, s.handle) })
	case to.ordinal == from.ordinal:
		o.run = give(func() code { return drv.copyOnDevice(to.at, from.at, n, s.handle) })
	default:
		toContext, err := d.peerContext(call, to.ordinal)
		if err != nil {
			return err
		}
		fromContext, err := d.peerContext(call, from.ordinal)
		if err != nil {
			return err
		}
		o.run = give(func() code { return drv.copyPeer(to.at, toContext, from.at, fromContext, n, s.handle) })
	}
	dst.Retain()
	src.Retain()
	return s.give(o)
}

// Fill sets bytes: on the GPU, or on the host for host memory, in the order of
// the stream.
func (s *stream) Fill(dst *memory.Buffer, offset, n int64, value byte) error {
	const call = "fill"
	d := s.device
	to, err := d.span(call, dst, offset, n)
	if err != nil {
		return err
	}
	o := op{call: call, after: dst.Release}
	switch {
	case n == 0:
		o.run = func() error { return nil }
	case to.onHost:
		o.host = true
		o.run = func() error {
			to.bytes[0] = value
			for done := 1; done < len(to.bytes); done *= 2 {
				copy(to.bytes[done:], to.bytes[:done])
			}
			return nil
		}
	case to.ordinal != d.context.ordinal:
		return d.mismatch(call, "a buffer on %s", dst.Place())
	default:
		o.run = func() error {
			return d.check(call, d.in(func() code { return d.lib.driver.fill(to.at, value, n, s.handle) }))
		}
	}
	dst.Retain()
	return s.give(o)
}
