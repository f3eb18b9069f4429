package devicetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// stream is a stream of the inner device that fails with its Fake.
type stream struct {
	fake  *Fake
	inner device.Stream
}

func (s *stream) Device() device.Device { return s.fake }

// first is the failure that a call returns: the stream's own, or else that of
// the device.
func (s *stream) first(err error) error {
	if lost := s.fake.failure(); lost != nil && !errors.Is(err, device.ErrClosed) && !errors.Is(err, device.ErrLost) {
		return lost
	}
	return err
}

// work counts a piece of work that the inner stream took. The one that loses
// the device does so behind the work given before it, as hardware would.
func (s *stream) work(call string, give func() error) error {
	if err := s.fake.failure(); err != nil {
		return s.first(err)
	}
	n := s.fake.calls.Add(1)
	after := s.fake.loseAfter.Load()
	if after < 0 || n <= after {
		return give()
	}
	return s.inner.Call(call, func() error {
		lost := device.Errorf(device.ErrLost, s.fake.Name(), call, "the device was lost in this call, number %d", n)
		s.fake.lost.CompareAndSwap(nil, lost)
		return s.fake.failure()
	})
}

func (s *stream) Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error {
	return s.work("copy", func() error {
		if d := time.Duration(s.fake.delay.Load()); d > 0 {
			err := s.inner.Call("copy", func() error { time.Sleep(d); return nil })
			if err != nil {
				return err
			}
		}
		return s.inner.Copy(dst, dstOffset, src, srcOffset, n)
	})
}

func (s *stream) Fill(dst *memory.Buffer, offset, n int64, value byte) error {
	return s.work("fill", func() error { return s.inner.Fill(dst, offset, n, value) })
}

func (s *stream) Launch(f device.Function, grid device.Grid, args ...any) error {
	fn, ok := f.(*function)
	if !ok || fn == nil || fn.fake != s.fake {
		return device.Errorf(device.ErrMismatch, s.fake.Name(), "launch", "a function (%T) of another device", f)
	}
	return s.work(fn.Name(), func() error { return s.inner.Launch(fn.Function, grid, args...) })
}

func (s *stream) Call(name string, f func() error) error {
	return s.work(name, func() error { return s.inner.Call(name, f) })
}

func (s *stream) Record(e device.Event) error { return s.first(s.inner.Record(e)) }

func (s *stream) WaitEvent(e device.Event) error { return s.first(s.inner.WaitEvent(e)) }

func (s *stream) Free(b *memory.Buffer) error { return s.first(s.inner.Free(b)) }

func (s *stream) Wait(ctx context.Context) error { return s.first(s.inner.Wait(ctx)) }

func (s *stream) Close() error { return s.first(s.inner.Close()) }

// module and function say that they belong to the Fake.
type module struct {
	device.Module
	fake *Fake
}

func (m *module) Function(name string) (device.Function, error) {
	f, err := m.Module.Function(name)
	if err != nil {
		return nil, err
	}
	return &function{f, m.fake}, nil
}

type function struct {
	device.Function
	fake *Fake
}

func (f *function) Device() device.Device { return f.fake }

// String names the function and its device in failures of tests.
func (f *function) String() string { return fmt.Sprintf("%s on %s", f.Name(), f.fake.Name()) }
