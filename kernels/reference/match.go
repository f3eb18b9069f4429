package reference

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func match(ctx context.Context, s device.Stream, op kernels.MatchOp, c *memory.Column, pattern string) (*memory.Column, error) {
	t := arrow.FixedWidthTypes.Boolean
	return kernels.BuildColumn(ctx, s, t, c.Len(), func(i int64) (kernels.Scalar, error) {
		v := kernels.ScalarAt(c, i)
		if !v.Valid() {
			return kernels.Null(t), nil
		}
		holds := [...]func(s, part string) bool{strings.Contains, strings.HasPrefix, strings.HasSuffix}[op]
		return kernels.Bool(holds(v.Text(), pattern)), nil
	})
}
