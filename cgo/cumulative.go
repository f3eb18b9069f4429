package main

// #include "base.h"
import "C"

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// scans are the running reductions by their names.
var scans = map[string]kernels.ScanOp{
	"sum": kernels.CumulativeSum, "product": kernels.CumulativeProduct, "min": kernels.CumulativeMin, "max": kernels.CumulativeMax,
}

//export go_volley_cumulative
func go_volley_cumulative(d, column C.uintptr_t, op *C.char, o *C.volley_cumulative_options, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_cumulative", t, func(k *keeper) (work, error) {
		c, err := kept[*columnObject](k, "column", column)
		if err != nil {
			return nil, err
		}
		name, err := text("op", op)
		if err != nil {
			return nil, err
		}
		scan, ok := scans[name]
		if !ok {
			return nil, mismatch("op is %q: sum, product, min and max are cumulative", name)
		}
		given, err := options("options", o)
		if err != nil {
			return nil, err
		}
		made := kernels.ScanOptions{Exclusive: given.exclusive != 0, KeepNulls: given.keep_nulls != 0, Checked: given.checked != 0}
		return kernelCall(k, d, []*columnObject{c}, func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
			r, err := b.Scan(ctx, s, scan, args[0], made)
			return one(out, r, err)
		})
	})
}
