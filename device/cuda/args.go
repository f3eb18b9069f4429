package cuda

import (
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// params makes the values of a launch's arguments, each in 8 bytes, and holds
// them against the kernel's parameters.
func (d *Device) params(fn *function, args []any) ([]uint64, error) {
	if len(args) != len(fn.params) {
		return nil, d.mismatch(fn.name, "%d arguments for %d parameters", len(args), len(fn.params))
	}
	values := make([]uint64, len(args))
	for i, a := range args {
		v, size, err := d.param(fn.name, i, a)
		if err != nil {
			return nil, err
		}
		if size != fn.params[i] {
			return nil, d.mismatch(fn.name, "argument %d is a %T of %d bytes, and the parameter has %d", i, a, size, fn.params[i])
		}
		values[i] = v
	}
	return values, nil
}

// param is one argument and its size in bytes.
func (d *Device) param(call string, i int, arg any) (value uint64, size int64, err error) {
	switch a := arg.(type) {
	case *memory.Buffer:
		at, err := d.pointer(call, i, a, true)
		return uint64(at), 8, err
	case device.Base:
		at, err := d.pointer(call, i, a.Buffer, false)
		return uint64(at), 8, err
	case int8:
		return uint64(uint8(a)), 1, nil
	case uint8:
		return uint64(a), 1, nil
	case int16:
		return uint64(uint16(a)), 2, nil
	case uint16:
		return uint64(a), 2, nil
	case int32:
		return uint64(uint32(a)), 4, nil
	case uint32:
		return uint64(a), 4, nil
	case float32:
		return uint64(math.Float32bits(a)), 4, nil
	case int64:
		return uint64(a), 8, nil
	case uint64:
		return a, 8, nil
	case int:
		return uint64(a), 8, nil
	case uint:
		return uint64(a), 8, nil
	case float64:
		return math.Float64bits(a), 8, nil
	default:
		return 0, 0, d.mismatch(call, "argument %d is a %T: a kernel takes buffers, Bases, integers and floats", i, arg)
	}
}

// pointer is the address of a buffer for kernels, of the start of its allocation
// if its own offset is not wanted.
func (d *Device) pointer(call string, i int, b *memory.Buffer, offset bool) (address, error) {
	if b == nil {
		return 0, nil
	}
	place := b.Place()
	base, begin := b.Handle()
	switch {
	case place.Type == memory.CUDA && d.reaches(place.ID):
		if !offset {
			return base, nil
		}
		return base + uintptr(begin), nil
	case place.Type == memory.CUDAHost || place.Type == memory.CUDAManaged:
		if offset {
			begin = 0 // the bytes begin where the buffer does
		}
		return d.hostPointer(call, b, begin)
	case place.Type == memory.CUDA:
		return 0, d.mismatch(call, "argument %d is a buffer on %s, which %s has no access to", i, place, d.name)
	default:
		return 0, d.mismatch(call, "argument %d is a buffer on %s", i, place)
	}
}

// hostPointer is the GPU's address of pinned host memory.
func (d *Device) hostPointer(call string, b *memory.Buffer, begin int64) (address, error) {
	if b.Len() == 0 {
		return 0, nil
	}
	host := span{bytes: b.Bytes()}
	at := uintptr(host.pointer())
	if !d.limits.hostPointers {
		c := d.in(func() (c code) {
			at, c = d.lib.driver.hostDevicePointer(host.pointer())
			return c
		})
		if err := d.check(call, c); err != nil {
			return 0, err
		}
	}
	return at - uintptr(begin), nil
}

// hold keeps the buffers among the arguments of a launch alive.
func hold(args []any) []*memory.Buffer {
	var held []*memory.Buffer
	for _, a := range args {
		switch a := a.(type) {
		case *memory.Buffer:
			if a != nil {
				held = append(held, a.Retain())
			}
		case device.Base:
			if a.Buffer != nil {
				held = append(held, a.Buffer.Retain())
			}
		}
	}
	return held
}
