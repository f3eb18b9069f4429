package memory

import "strconv"

// DeviceType numbers the kinds of memory as DLPack and the Arrow C Device
// interface do, so that a Place crosses either without translation.
type DeviceType int32

// The kinds of memory that volley moves bytes between.
const (
	CPU         DeviceType = 1  // ordinary host memory
	CUDA        DeviceType = 2  // memory of a CUDA device
	CUDAHost    DeviceType = 3  // host memory pinned for a CUDA device
	OpenCL      DeviceType = 4  // memory of an OpenCL device
	CUDAManaged DeviceType = 13 // CUDA managed memory, on either side
)

// Place names where bytes live: a kind of memory and the number of the device
// it belongs to. Host memory is Place{CPU, 0}.
type Place struct {
	Type DeviceType
	ID   int32
}

// Host is the place of ordinary host memory.
var Host = Place{Type: CPU}

// HostAccessible reports whether Go code can read and write bytes there.
func (p Place) HostAccessible() bool {
	return p.Type == CPU || p.Type == CUDAHost || p.Type == CUDAManaged
}

// String gives the device name used everywhere in volley: "cpu", "cuda:0",
// "opencl:1"; pinned and managed memory say so.
func (p Place) String() string {
	id := ":" + strconv.Itoa(int(p.ID))
	switch p.Type {
	case CPU:
		return "cpu"
	case CUDA:
		return "cuda" + id
	case CUDAHost:
		return "cuda" + id + " (pinned host memory)"
	case OpenCL:
		return "opencl" + id
	case CUDAManaged:
		return "cuda" + id + " (managed memory)"
	default:
		return "device type " + strconv.Itoa(int(p.Type)) + id
	}
}
