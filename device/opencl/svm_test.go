package opencl_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/memory"
)

// TestSVM launches on memory that the host writes and reads without a copy, and
// holds devices with such memory to the contracts. Others refuse the option.
func TestSVM(t *testing.T) {
	for i := range devices(t) {
		d, err := opencl.Open(i, opencl.WithSVM())
		if has := slices.Contains(open(t, i).Info().Features, "svm"); !has {
			if !errors.Is(err, device.ErrUnsupported) {
				t.Errorf("device %d has none, and opens: %v", i, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.NewStream()
		b := &bench{T: t, d: d, s: s}
		b.must(err)
		twice, err := memory.New(d.Pinned(), 1000*8)
		b.must(err)
		values := memory.View[int64](twice)
		for k := range values {
			values[k] = int64(k)
		}
		m, err := d.LoadModule(t.Context(), kernels())
		b.must(err)
		f, err := m.Function("twice")
		b.must(err)
		part, err := twice.Slice(8*100, 8*10) // of no alignment but its own
		b.must(err)
		b.must(s.Launch(f, device.Grid{Groups: [3]int64{10}}, part))
		b.must(s.Launch(f, device.Grid{Groups: [3]int64{5}}, device.Base{Buffer: part}))
		b.must(s.Wait(t.Context()))
		for k, v := range values {
			want := int64(k)
			if k < 5 || k >= 100 && k < 110 {
				want *= 2
			}
			if v != want {
				t.Fatalf("value %d is %d", k, v)
			}
		}
		heap := memory.Wrap(make([]byte, 80), nil)
		b.says(s.Launch(f, device.Grid{}, heap), device.ErrMismatch, "argument 0", "cpu")
		part.Release()
		twice.Release()
		b.must(d.Close())
		devicetest.RunWith(t, func() device.Device { return open(t, i, opencl.WithSVM()) }, kernels())
	}
}
