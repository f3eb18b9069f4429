package opencl

import (
	"runtime"
	"testing"
	"time"

	"github.com/volley-go/volley/memory"
)

// cycle opens, uses and closes one of everything.
func cycle(t *testing.T, s *system) {
	d, err := s.open(0)
	must(t, err)
	st, err := d.NewStream()
	must(t, err)
	e, err := d.NewEvent()
	must(t, err)
	x, err := memory.New(d.Memory(), 1024)
	must(t, err)
	h, err := memory.New(d.Pinned(), 1024)
	must(t, err)
	must(t, st.Fill(x, 3, 1000, 7))
	must(t, st.Record(e))
	must(t, st.Copy(h, 0, x, 0, 1024))
	must(t, st.Free(x))
	must(t, st.Wait(t.Context()))
	if h.Bytes()[3] != 7 {
		t.Fatal("the fill did not arrive")
	}
	h.Release()
	must(t, e.Close())
	must(t, st.Close())
	must(t, d.Close())
}

// TestCyclesOfFake opens and closes 10,000 times; nothing may be left.
func TestCyclesOfFake(t *testing.T) {
	f := newFake()
	s := f.system(t)
	before := runtime.NumGoroutine()
	for range 10_000 {
		cycle(t, s)
	}
	if left := f.left(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for range 1000 {
		m, err := f.open(t, s, 0).LoadModule(t.Context(), suiteKernels)
		must(t, err)
		if _, err := m.Function("twice"); err != nil {
			t.Fatal(err)
		}
		must(t, m.(*module).device.Close())
	}
	if left := f.left(); len(left) != 0 {
		t.Errorf("left by modules: %v", left)
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

// TestCyclesOfDevices does the same with a device of this machine, and compares
// what the process holds in the end with what it held after the first tenth.
func TestCyclesOfDevices(t *testing.T) {
	s, err := here()
	if err != nil {
		t.Log(err) // TestDevice sees to it that this is no accident
		return
	}
	began := time.Now()
	var first int64
	for i := range 10_000 {
		cycle(t, s)
		if i == 1000 {
			first = resident(t)
		}
	}
	grown := resident(t) - first
	t.Logf("10,000 cycles in %s, %d bytes more", time.Since(began), grown)
	if grown > 32<<20 {
		t.Errorf("%d bytes more than after the first 1,000 cycles", grown)
	}
}
