package devicetest

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// WithMemory is a device whose Memory is another allocator over the device's
// own: one that counts, limits or fails. Code is loaded on the device inside and
// launched on the streams as it is.
func WithMemory(d device.Device, a memory.Allocator) device.Device {
	return &withMemory{d, a}
}

type withMemory struct {
	device.Device
	memory memory.Allocator
}

func (d *withMemory) Memory() memory.Allocator { return d.memory }

// Unwrap is the device itself, which packages of its driver ask for.
func (d *withMemory) Unwrap() device.Device { return d.Device }

func (d *withMemory) NewStream() (device.Stream, error) {
	s, err := d.Device.NewStream()
	if err != nil {
		return nil, err
	}
	return &streamOf{s, d}, nil
}

// streamOf is a stream that belongs to the device outside.
type streamOf struct {
	device.Stream
	device device.Device
}

func (s *streamOf) Device() device.Device { return s.device }

// Unwrap is the device's own stream, which packages of its driver ask for.
func (s *streamOf) Unwrap() device.Stream { return s.Stream }
