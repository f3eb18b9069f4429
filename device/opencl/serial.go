package opencl

import (
	"reflect"
	"sync"
	"unsafe"
)

// oclgrind is the name of the simulator's platform.
const oclgrind = "Oclgrind"

// oneAtATime is the driver with one call at a time, over all threads: for
// Oclgrind, the simulator that looks for races and bad accesses, which is not
// made for more although OpenCL asks for it. Its commands run within the calls
// that wait for them, so that none waits for another call.
func (d *driver) oneAtATime() *driver {
	var mu sync.Mutex
	guarded := *d
	fields := reflect.ValueOf(&guarded).Elem()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Kind() != reflect.Func || f.IsNil() {
			continue
		}
		f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem() // the field is not exported
		inner := reflect.ValueOf(f.Interface())
		f.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			mu.Lock()
			defer mu.Unlock()
			return inner.Call(args)
		}))
	}
	return &guarded
}
