package memory

// Alignment is what every allocator of this package aligns to and pads to, in
// bytes: a cache line, and an AVX-512 register.
const Alignment = 64

// Block is a piece of memory as an allocator gives it out.
type Block struct {
	// Bytes is the block where the host can address it, else nil. Its length
	// is Size; reading and writing up to the next multiple of Alignment is
	// allowed through its capacity.
	Bytes []byte
	// Handle is the device address, or the driver's handle (OpenCL's cl_mem).
	// It is 0 for host memory.
	Handle uintptr
	// Size is the number of bytes asked for.
	Size int64
	// Tag belongs to the allocator that gave the block out; everybody else
	// leaves it as it is.
	Tag any
}

// Allocator gives out and takes back blocks of one kind of memory. It is the
// one interface that pools, limits and statistics wrap, and that a device
// driver implements. Methods may be called from any goroutine.
type Allocator interface {
	// Allocate returns a block of size bytes, aligned and padded to Alignment.
	// Its contents are undefined. A size of 0 is valid and takes nothing; a
	// negative one is an ErrMismatch. When there is not enough the error is an
	// ErrOutOfMemory.
	Allocate(size int64) (Block, error)
	// Free takes back a block that the same allocator gave out, once.
	Free(Block)
	// Place says where the blocks live.
	Place() Place
}

// Padded gives size rounded up to a multiple of Alignment.
func Padded(size int64) int64 { return (size + Alignment - 1) &^ (Alignment - 1) }
