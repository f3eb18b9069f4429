package device

import "context"

// Source is code for a device in every form that its author has; a device
// takes the form it knows and refuses (ErrUnsupported) a source without it.
type Source struct {
	Name    string            // for error texts and caches
	Text    string            // source text in the device's own dialect (OpenCL C, CUDA C)
	Image   []byte            // compiled code (PTX, a program binary)
	Defines map[string]string // macros for Text
	Host    map[string]HostFunction
}

// HostFunction is a kernel for the host device: it runs one work-group. It
// returns early when ctx ends.
type HostFunction func(ctx context.Context, group Group, args []any) error

// Group tells a HostFunction which work-group of the grid it runs.
type Group struct {
	ID   [3]int64 // the group's index in each dimension
	Grid Grid     // the whole grid
}

// Grid is how much to launch: groups of work-items in up to three dimensions.
// A dimension of 0 counts as 1.
type Grid struct {
	Groups [3]int64 // number of work-groups
	Items  [3]int   // work-items in each
	Local  int      // bytes of dynamic local memory of a group
}

// Module is code that is ready to launch.
type Module interface {
	// Function finds a kernel by name (ErrUnavailable where there is none).
	Function(name string) (Function, error)
	// Close gives the code back; functions of it must not be launched after.
	Close() error
}

// Function is one kernel of a Module.
type Function interface {
	// Name is the kernel's name.
	Name() string
	// Device is the device that it was loaded for.
	Device() Device
}
