package cuda

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Native gives work of another CUDA library, such as cuBLAS, to a stream of
// this package. enqueue is called once, in the order of the stream, with the
// device's context on the thread; it hands its work to the CUstream that it is
// given and does not wait for it. The buffers held are kept alive until that
// work is done. An error of enqueue becomes the stream's, as that of a launch
// does; call is the name that errors have. A stream with a method Unwrap stands
// for the one that it returns.
func Native(s device.Stream, call string, held []*memory.Buffer, enqueue func(stream uintptr) error) error {
	if w, ok := s.(interface{ Unwrap() device.Stream }); ok {
		s = w.Unwrap()
	}
	own, ok := s.(*stream)
	if !ok || own == nil {
		return device.Errorf(device.ErrMismatch, "cuda", call, "a stream (%T) that is not of CUDA", s)
	}
	d := own.device
	kept := make([]*memory.Buffer, 0, len(held))
	for _, b := range held {
		kept = append(kept, b.Retain())
	}
	return own.give(op{
		call:   call,
		launch: true,
		run:    func() error { return d.Current(call, func() error { return enqueue(own.handle) }) },
		after:  func() { drop(kept) },
	})
}

// Current calls f with the device's context on the thread, as libraries want it
// that make objects for the current context. It gives what f does, or says why
// there is no context any more.
func (d *Device) Current(call string, f func() error) error {
	var failed error
	if err := d.check(call, d.in(func() code { failed = f(); return success })); err != nil {
		return err
	}
	return failed
}

// AtClose has f called when the device is closed: when the work of its streams
// is done, with the context on the thread. On a lost device f is not called.
func (d *Device) AtClose(f func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		return d.closedError("at close")
	}
	d.atClose = append(d.atClose, f)
	return nil
}
