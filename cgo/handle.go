package main

// #include "base.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/device"
)

// object is what a handle stands for. hold and drop count references, so that one thread may free what another is using.
type object interface {
	hold()
	drop()
	kind() string
}

var live struct {
	sync.RWMutex
	next uintptr
	all  map[uintptr]object
}

// register makes a handle of an object and takes over the caller's reference. Handles are never used again, and no address that Go knows:
// they have the bit that no pointer of a program has.
func register(o object) C.uintptr_t {
	live.Lock()
	defer live.Unlock()
	if live.all == nil {
		live.all = make(map[uintptr]object)
	}
	live.next++
	h := live.next | 1<<62
	live.all[h] = o
	return C.uintptr_t(h)
}

// find is the object of a handle with a reference for the caller, who drops it.
func find[T object](name string, h C.uintptr_t) (T, error) {
	return findNamed[T](func() string { return name }, h)
}

// findNamed is find with a name that is made for an error alone: lists are long.
func findNamed[T object](name func() string, h C.uintptr_t) (T, error) {
	var none T
	if h == 0 {
		return none, mismatch("%s is NULL", name())
	}
	live.RLock()
	defer live.RUnlock()
	o, ok := live.all[uintptr(h)]
	if !ok {
		return none, fmt.Errorf("%w: %s was freed, or is no handle", device.ErrClosed, name())
	}
	t, ok := o.(T)
	if !ok {
		return none, mismatch("%s is a %s, not a %s", name(), o.kind(), none.kind())
	}
	t.hold()
	return t, nil
}

// findAll finds n handles; the caller drops them with dropAll, also after an error.
func findAll[T object](name string, p *C.uintptr_t, n C.int64_t) ([]T, error) {
	k, err := count(name, p, n)
	if err != nil {
		return nil, err
	}
	all := make([]T, 0, k)
	for i, h := range unsafe.Slice(p, k) {
		o, err := findNamed[T](func() string { return fmt.Sprintf("%s[%d]", name, i) }, h)
		if err != nil {
			return all, err
		}
		all = append(all, o)
	}
	return all, nil
}

func dropAll[T object](all []T) {
	for _, o := range all {
		o.drop()
	}
}

// with finds one object for the time of body.
func with[T object](name string, h C.uintptr_t, body func(T) error) error {
	o, err := find[T](name, h)
	if err != nil {
		return err
	}
	defer o.drop()
	return body(o)
}

// free gives a handle back.
func free[T object](name string, h C.uintptr_t) C.int32_t {
	return call(name, func() error {
		if h == 0 {
			return nil
		}
		return with("the handle", h, func(o T) error {
			live.Lock()
			_, ok := live.all[uintptr(h)]
			delete(live.all, uintptr(h))
			live.Unlock()
			if ok {
				o.drop()
			}
			return nil
		})
	})
}

//export go_volley_forget
func go_volley_forget(h C.uintptr_t) {
	_ = call("release", func() error { // a release callback has no status
		live.Lock()
		o, ok := live.all[uintptr(h)]
		delete(live.all, uintptr(h))
		live.Unlock()
		if ok {
			o.drop()
		}
		return nil
	})
}

//export go_volley_live
func go_volley_live(out *C.int64_t) C.int32_t {
	return call("volley_live", func() error {
		live.RLock()
		defer live.RUnlock()
		*out = C.int64_t(len(live.all))
		return nil
	})
}

// unmanaged is embedded by objects that Go's collector looks after.
type unmanaged struct{}

func (unmanaged) hold() {}
func (unmanaged) drop() {}
