package opencl_test

import (
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/memory"
)

// BenchmarkStream is what the host pays for a launch, and for one that is
// waited for, of a kernel that does next to nothing, on the first device.
func BenchmarkStream(b *testing.B) {
	d, err := opencl.Open(0)
	if err != nil {
		b.Log(err)
		return
	}
	defer d.Close()
	m, err := d.LoadModule(b.Context(), kernels())
	if err != nil {
		b.Fatal(err)
	}
	f, err := m.Function("twice")
	if err != nil {
		b.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		b.Fatal(err)
	}
	x, err := memory.New(d.Memory(), 64)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Release()
	run := func(name string, each func() error) {
		b.Run("call="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := each(); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
	launch := func() error { return s.Launch(f, device.Grid{}, x) }
	run("Launch", launch)
	run("LaunchWait", func() error {
		if err := launch(); err != nil {
			return err
		}
		return s.Wait(b.Context())
	})
	run("Call", func() error { return s.Call("nothing", func() error { return nil }) })
	run("Allocate", func() error {
		y, err := memory.New(d.Memory(), 4096)
		if err == nil {
			y.Release()
		}
		return err
	})
}
