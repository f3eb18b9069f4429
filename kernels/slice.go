package kernels

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Slice shows n rows of c from offset, of any type, without a copy and as a new
// reference: it is the column's own Slice under the backend's name. Rows
// outside of c are an ErrMismatch that names them.
func (b *Backend) Slice(c *memory.Column, offset, n int64) (_ *memory.Column, err error) {
	const call = "slice"
	defer b.guard(call, &err)
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "no column given")
	}
	return c.Slice(offset, n)
}
