package devicetest

import (
	"context"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// remoteStream is a stream of the host that resolves handles.
type remoteStream struct {
	inner  device.Stream
	device *Remote
}

func (s *remoteStream) Device() device.Device { return s.device }

// view is a buffer as the host sees it: itself, or one over the bytes behind
// its handle that keeps it alive. The caller releases it.
func (s *remoteStream) view(call string, b *memory.Buffer) (*memory.Buffer, error) {
	if b == nil || b.Place() != s.device.place {
		return b.Retain(), nil // what is not for the host either, it refuses
	}
	handle, offset := b.Handle()
	bytes := s.device.bytes(handle)
	if offset+b.Len() > int64(len(bytes)) {
		return nil, device.Errorf(device.ErrMismatch, s.device.Name(), call, "a buffer of %d bytes that is not of this device", b.Len())
	}
	return memory.Wrap(bytes[offset:offset+b.Len()], b.Retain().Release), nil
}

func (s *remoteStream) Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error {
	to, err := s.view("copy", dst)
	if err != nil {
		return err
	}
	defer to.Release()
	from, err := s.view("copy", src)
	if err != nil {
		return err
	}
	defer from.Release()
	return s.own(s.inner.Copy(to, dstOffset, from, srcOffset, n))
}

func (s *remoteStream) Fill(dst *memory.Buffer, offset, n int64, value byte) error {
	to, err := s.view("fill", dst)
	if err != nil {
		return err
	}
	defer to.Release()
	return s.own(s.inner.Fill(to, offset, n, value))
}

func (s *remoteStream) Launch(f device.Function, grid device.Grid, args ...any) error {
	fn, ok := f.(*remoteFunction)
	if !ok || fn == nil || fn.device != s.device {
		return device.Errorf(device.ErrMismatch, s.device.Name(), "launch", "a function (%T) of another device", f)
	}
	args = slices.Clone(args)
	for i, a := range args {
		var b *memory.Buffer
		switch a := a.(type) {
		case *memory.Buffer:
			b = a
		case device.Base:
			b = a.Buffer
		default:
			continue
		}
		v, err := s.view(fn.Name(), b)
		if err != nil {
			return err
		}
		defer v.Release()
		if _, base := a.(device.Base); base {
			args[i] = device.Base{Buffer: v}
		} else {
			args[i] = v
		}
	}
	return s.own(s.inner.Launch(fn.Function, grid, args...))
}

func (s *remoteStream) Call(name string, f func() error) error {
	return s.own(s.inner.Call(name, f))
}

func (s *remoteStream) Record(e device.Event) error { return s.own(s.inner.Record(e)) }

func (s *remoteStream) WaitEvent(e device.Event) error { return s.own(s.inner.WaitEvent(e)) }

func (s *remoteStream) Free(b *memory.Buffer) error { return s.own(s.inner.Free(b)) }

func (s *remoteStream) Wait(ctx context.Context) error { return s.own(s.inner.Wait(ctx)) }

func (s *remoteStream) Close() error { return s.own(s.inner.Close()) }

func (s *remoteStream) own(err error) error { return s.device.own(err) }

// remoteModule and remoteFunction say that they belong to the Remote.
type remoteModule struct {
	inner  device.Module
	device *Remote
}

func (m *remoteModule) Function(name string) (device.Function, error) {
	f, err := m.inner.Function(name)
	if err != nil {
		return nil, m.device.own(err)
	}
	return &remoteFunction{f, m.device}, nil
}

func (m *remoteModule) Close() error { return m.inner.Close() }

type remoteFunction struct {
	device.Function
	device *Remote
}

func (f *remoteFunction) Device() device.Device { return f.device }
