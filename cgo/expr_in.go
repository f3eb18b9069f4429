package main

// #include "base.h"
import "C"

import (
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

//export go_volley_expr_in
func go_volley_expr_in(h C.uintptr_t, lists *C.uintptr_t, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_expr_in", func() error {
		return with("value", h, func(o *exprObject) error {
			all, err := findAll[*columnObject]("lists", lists, n)
			defer dropAll(all)
			if err != nil {
				return err
			}
			values, err := valuesOf(all)
			if err != nil {
				return err
			}
			return giveExpr(out, o.e.In(values...))
		})
	})
}

// valuesOf are the values of all columns, as In takes them: a null once, since
// a thousand say no more.
func valuesOf(lists []*columnObject) ([]any, error) {
	var values []any
	null := false
	for i, l := range lists {
		if !l.onHost() {
			return nil, device.Errorf(device.ErrUnsupported, l.b.Device.Name(), "in", "lists[%d] is in a device's memory: copy it to the host first", i)
		}
		for _, v := range kernels.Scalars(l.c) {
			switch {
			case v.Valid():
				values = append(values, v)
			case !null:
				values, null = append(values, nil), true
			}
		}
	}
	return values, nil
}
