package gpu

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// gatherLong adds the buffers and the child of text and lists.
func (c *call) gatherLong(p *memory.Parts, col *memory.Column, r rows) {
	c.failf(device.ErrUnsupported, "columns of type %s", col.Type())
}
