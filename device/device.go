package device

import (
	"context"

	"github.com/volley-go/volley/memory"
)

// Device is a processor with its memory. All methods may be called from any
// goroutine.
type Device interface {
	// Name is "cpu", "cuda:0", "opencl:1".
	Name() string
	// Place is where the device's memory is.
	Place() memory.Place
	// Info is what the device can do, as data.
	Info() Info
	// Memory allocates on the device.
	Memory() memory.Allocator
	// Pinned allocates host memory that copies to and from the device run
	// fastest with, and asynchronously. On the host device it is Memory.
	Pinned() memory.Allocator
	// NewStream makes a stream.
	NewStream() (Stream, error)
	// NewEvent makes an event, not yet recorded.
	NewEvent() (Event, error)
	// LoadModule makes code ready to launch. A failed build is an error that
	// carries the compiler's log.
	LoadModule(ctx context.Context, src Source) (Module, error)
	// Close waits for the device's streams and gives everything back. Later
	// calls on the device and its streams return ErrClosed. Closing twice is
	// allowed.
	Close() error
}

// Info describes a device: what a kernel's host side and the placement of
// operations read. Sizes are bytes; 0 means not known.
type Info struct {
	Name        string   // as Device.Name
	Vendor      string   // "Intel", "NVIDIA"
	Model       string   // the product's own name
	Driver      string   // driver or runtime with its version
	Units       int      // cores, multiprocessors or compute units used
	Lanes       int      // lanes of a warp, sub-group or vector register, in 32-bit values
	Memory      int64    // memory in all
	MemoryFree  int64    // of it free at the time of the call
	LocalMemory int64    // local (shared) memory of a work-group
	CacheL1     int64    // first-level data cache of a unit
	CacheL2     int64    // second-level cache
	Cache       int64    // last-level cache
	MaxGroup    int      // work-items of a work-group at most
	Tier        string   // the CPU tier of kernels in use: "generic", "avx2", "avx512"
	Features    []string // names of what is optional: "fp64", "int64-atomics", "subgroups", "avx2"
	Unified     bool     // host and device share memory: a transfer is no copy
	Emulated    bool     // runs on a CPU in place of the hardware it presents
}
