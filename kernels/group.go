package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Groups number the distinct keys among rows.
type Groups struct {
	// IDs is the group of each row (IndexType), null for rows dropped.
	IDs *memory.Column
	// First is the first row of each group (IndexType): rising, unless AnyOrder.
	First *memory.Column
	// N is the number of groups.
	N int64
}

// Release drops the references to the columns.
func (g *Groups) Release() {
	if g != nil {
		g.IDs.Release()
		g.First.Release()
	}
}

// GroupOptions tune grouping.
type GroupOptions struct {
	// DropNullKeys leaves out rows with a null in any key; without it null is a
	// key like others, equal to itself.
	DropNullKeys bool
	// AnyOrder allows groups in any order instead of that of first appearance.
	AnyOrder bool
}

// GroupFunc gives the same number to rows whose keys are all equal, counting
// from 0 in order of first appearance. NaNs are equal, -0 equals 0.
type GroupFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*Groups, error)
