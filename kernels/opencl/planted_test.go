package opencl_test

import (
	"os"
	"testing"

	"github.com/volley-go/volley/device"
	driver "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/memory"
)

// TestPlantedRace runs a kernel in which two items write one word, if
// VOLLEY_RACE=planted asks for it: by this the scripts know that the simulator
// that looks for races finds them.
func TestPlantedRace(t *testing.T) {
	if os.Getenv("VOLLEY_RACE") != "planted" {
		return
	}
	onFirst(t, func(d *driver.Device) {
		m, err := d.LoadModule(t.Context(), device.Source{Name: "race", Text: `
kernel void race(global long *out) { out[get_local_id(0) / 2] = get_local_id(0); }
`})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Function("race")
		if err != nil {
			t.Fatal(err)
		}
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		out, err := memory.New(d.Memory(), 512)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Release()
		if err := s.Launch(f, device.Grid{Items: [3]int{64}}, out); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
