package kernels

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceMatch(ctx context.Context, s device.Stream, op MatchOp, c *memory.Column, pattern string) (*memory.Column, error) {
	t := arrow.FixedWidthTypes.Boolean
	return loop(ctx, s, t, c.Len(), func(i int64) (Scalar, error) {
		v := ScalarAt(c, i)
		if !v.valid {
			return Null(t), nil
		}
		holds := [...]func(s, part string) bool{strings.Contains, strings.HasPrefix, strings.HasSuffix}[op]
		return Bool(holds(v.Text(), pattern)), nil
	})
}
