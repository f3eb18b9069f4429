package main

// #include "base.h"
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// bodySaid is how many bytes a function of C may say about its failure.
const bodySaid = 512

// body is a function of C, called with the memory of columns, which stays where it is for that time.
func body(f unsafe.Pointer, given C.uintptr_t) func(rows int64, out []byte, args [][]byte) error {
	return func(rows int64, out []byte, args [][]byte) error {
		if rows == 0 {
			return nil
		}
		var pins runtime.Pinner
		defer pins.Unpin()
		pin := func(b []byte) unsafe.Pointer {
			p := unsafe.Pointer(unsafe.SliceData(b))
			pins.Pin((*byte)(p))
			return p
		}
		list := (*[1 << 16]unsafe.Pointer)(C.calloc(C.size_t(len(args)), C.size_t(unsafe.Sizeof(f))))
		said := (*C.char)(C.calloc(1, bodySaid))
		defer C.free(unsafe.Pointer(list))
		defer C.free(unsafe.Pointer(said))
		if list == nil || said == nil {
			return device.Errorf(device.ErrOutOfMemory, "", "calloc", "%d arguments", len(args))
		}
		for i, a := range args {
			list[i] = pin(a)
		}
		switch status := C.vly_call_body(f, given, C.int64_t(rows), pin(out), unsafe.Pointer(list), said, bodySaid); status {
		case C.VOLLEY_OK:
			return nil
		case C.VOLLEY_CANCELED:
			return fmt.Errorf("%w: %s", device.ErrCanceled, C.GoString(said))
		default:
			return fmt.Errorf("it returned %d: %s", int(status), C.GoString(said))
		}
	}
}

//export go_volley_function_register
func go_volley_function_register(name *C.char, types **C.char, n C.int64_t, f unsafe.Pointer, given C.uintptr_t, source *C.char) C.int32_t {
	return call("volley_function_register", func() error {
		called, err := text("name", name)
		if err != nil {
			return err
		}
		list, err := texts("types", types, n)
		if err != nil {
			return err
		}
		if len(list) > 1<<8 {
			return mismatch("%d arguments", len(list)-1)
		}
		all := make([]arrow.DataType, len(list))
		for i, t := range list {
			if all[i], err = typeNamed(t); err != nil {
				return err
			}
		}
		dialect, err := optional("source", source)
		if err != nil {
			return err
		}
		var host func(int64, []byte, [][]byte) error
		if f != nil {
			host = body(f, given)
		}
		_, err = kernels.RegisterBytes(called, all, host, dialect)
		return err
	})
}

//export go_volley_apply
func go_volley_apply(d C.uintptr_t, name *C.char, args *C.uintptr_t, n C.int64_t, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return long("volley_apply", t, func(k *keeper) (work, error) {
		called, err := text("name", name)
		if err != nil {
			return nil, err
		}
		f, ok := kernels.Registered(called)
		if !ok {
			return nil, mismatch("no function %s is registered", called)
		}
		all, err := keptAll[*columnObject](k, "args", args, n)
		if err != nil {
			return nil, err
		}
		return kernelCall(k, d, all, func(ctx context.Context, b *kernels.Backend, s device.Stream, args []*memory.Column) (results, error) {
			data := make([]kernels.Datum, len(args))
			for i, c := range args {
				data[i] = c
			}
			c, err := b.Apply(ctx, s, f, data)
			return one(out, c, err)
		})
	})
}
