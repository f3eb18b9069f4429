package kerneltest

import (
	"reflect"
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Planted puts one error at a time into each kernel of a backend, runs the
// kernel's checks on it, and fails when they did not see it: a wrong value, a
// row too few, a wrong null, two rows swapped, an offset ignored, an argument
// changed, a leak, a context ignored.
func Planted(t *testing.T, b *kernels.Backend) {
	seed, extent := seedOf(t.Fatalf), max(Tiny, min(Brief, extentOf(t.Fatalf, b.Device, nil))) // the columns of Least show few errors
	if b.Device.Place() == memory.Host {
		extent = Brief // below it no call is so long that it has to look at its context more than once
	}
	t.Run("Planted", func(t *testing.T) { // ends when all its parallel parts have
		for _, f := range families {
			if !has(b.Set, f.Kernel) {
				continue
			}
			t.Run(f.Kernel, func(t *testing.T) {
				t.Parallel()
				took := 0
				for _, m := range mutations {
					if m.onHost && b.Device.Place() != memory.Host {
						continue
					}
					hits, calls := 0, 0
					bad := &kernels.Backend{Device: b.Device, Set: plant(b.Set, f.Kernel, m, &hits, &calls)}
					failure := record(func(r Reporter) {
						s := newSuite(r, bad, referenceBackend(t), false, extent)
						s.planted = true
						s.unfit = func() bool { return hits == 0 && calls > unfitAfter }
						s.ran = &pairs{set: map[kernels.Support]bool{}}
						f.run(s, seed)
					})
					switch {
					case failure == "" && hits > 0:
						t.Errorf("%s with %s: the checks saw nothing in %d calls", f.Kernel, m.name, hits)
					case failure != "" && hits == 0:
						t.Errorf("%s failed before %s could be planted: %s", f.Kernel, m.name, failure)
					case failure != "":
						took++
					}
				}
				if took < 4 {
					t.Errorf("%s: only %d kinds of error could be planted", f.Kernel, took)
				}
			})
		}
	})
}

// unfitAfter calls without the planted error being possible, no later one has it
// either: an argument that the kernel has not got, rows of a result of no rows.
const unfitAfter = 400

// plant is a set whose named kernel makes the error m; hits counts the calls in
// which it did, of calls.
func plant(set *kernels.Set, kernel string, m mutation, hits, calls *int) *kernels.Set {
	bad := *set
	entry := reflect.ValueOf(&bad).Elem().FieldByName(kernel).FieldByName("Func")
	right := reflect.ValueOf(entry.Interface())
	entry.Set(reflect.MakeFunc(entry.Type(), func(args []reflect.Value) []reflect.Value {
		*calls++
		return m.call(newMutant(m, args[1], hits), right, args)
	}))
	return &bad
}
