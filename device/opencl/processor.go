package opencl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// processor is a device as the driver lists it, with what is asked of it once.
type processor struct {
	system   *system
	drv      *driver
	index    int
	name     string // "opencl:0"
	platform handle
	id       handle

	kind         uint64 // CL_DEVICE_TYPE
	info         device.Info
	platformText string
	version      string // of the device: "OpenCL 1.2 …"
	standard     string // what kernels are built as: 1.2, which every device has that is not refused, or 3.0
	alignment    int64  // of sub-buffers, in bytes
	maxAllocate  int64  // bytes of one buffer at most
	maxItems     [3]int64
	extensions   []string
	svm          uint64 // CL_DEVICE_SVM_CAPABILITIES; 0 without clSVMAlloc
}

// system is what one driver has: its devices in order, and why some of them
// cannot be used.
type system struct {
	processors []*processor
	refused    []string
}

// here is the driver of this process with its devices, found out once.
var here = sync.OnceValues(func() (*system, error) {
	drv, err := load()
	if err != nil {
		return nil, err
	}
	return newSystem(drv)
})

// newSystem lists the devices of all platforms: GPUs first, then accelerators,
// then CPUs, otherwise as the driver lists them. Without any the error is an
// ErrUnavailable that says why.
func newSystem(drv *driver) (*system, error) {
	unavailable := func(call string, st status, text string) error {
		return &device.Error{Device: "opencl", Call: call, Code: int(st), Kind: device.ErrUnavailable, Text: text}
	}
	defer restoreSignals(drv)()
	platforms, st := drv.getPlatformIDs()
	if st != success && st != platformNotFound {
		return nil, unavailable("clGetPlatformIDs", st, drv.path+": "+st.String())
	}
	if len(platforms) == 0 {
		return nil, unavailable("clGetPlatformIDs", st, drv.path+" is there, but no OpenCL driver is installed for it")
	}
	s := &system{}
	for _, platform := range platforms {
		drv := drv
		name := drv.platformString(platform, platformName)
		if version := drv.platformString(platform, platformVersion); !atLeast(version, 1, 2) {
			s.refused = append(s.refused, fmt.Sprintf("%s: %q is too old, OpenCL 1.2 is needed", name, version))
			continue
		}
		ids, st := drv.getDeviceIDs(platform)
		if st != success && st != deviceNotFound {
			s.refused = append(s.refused, fmt.Sprintf("%s: clGetDeviceIDs: %v", name, st))
			continue
		}
		if len(ids) == 0 {
			s.refused = append(s.refused, name+": no device")
		}
		if name == oclgrind {
			drv = drv.oneAtATime()
		}
		for _, id := range ids {
			p := &processor{system: s, drv: drv, platform: platform, id: id, platformText: name}
			if why := p.describe(); why != "" {
				s.refused = append(s.refused, fmt.Sprintf("%s: %s: %s", name, p.info.Model, why))
				continue
			}
			s.processors = append(s.processors, p)
		}
	}
	slices.SortStableFunc(s.processors, func(a, b *processor) int { return a.rank() - b.rank() })
	for i, p := range s.processors {
		p.index, p.name = i, fmt.Sprintf("opencl:%d", i)
		p.info.Name = p.name
	}
	if len(s.processors) == 0 {
		return nil, unavailable("clGetDeviceIDs", deviceNotFound, "no OpenCL device: "+strings.Join(s.refused, "; "))
	}
	return s, nil
}

func (p *processor) rank() int {
	switch {
	case p.kind&deviceTypeGPU != 0:
		return 0
	case p.kind&deviceTypeAccelerator != 0:
		return 1
	}
	return 2
}

// place is where the device's memory is.
func (p *processor) place() memory.Place {
	return memory.Place{Type: memory.OpenCL, ID: int32(p.index)}
}

// atLeast reads "OpenCL 1.2 …".
func atLeast(version string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(version, "OpenCL %d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

func (d *driver) platformString(platform handle, key uint32) string {
	value, _ := d.getPlatformInfo(platform, key)
	return text(value)
}

// text is a string of the driver without what ends it.
func text(value []byte) string {
	value, _, _ = bytes.Cut(value, []byte{0})
	return strings.TrimSpace(string(value))
}

func (p *processor) text(key uint32) string {
	value, _ := p.drv.getDeviceInfo(p.id, key)
	return text(value)
}

// number is an integer of 4 or 8 bytes, 0 where the device does not tell it.
func (p *processor) number(key uint32) int64 {
	value, st := p.drv.getDeviceInfo(p.id, key)
	switch {
	case st != success:
	case len(value) == 4:
		return int64(binary.NativeEndian.Uint32(value))
	case len(value) == 8:
		return int64(min(binary.NativeEndian.Uint64(value), 1<<63-1))
	}
	return 0
}
