package opencl

import (
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	driver "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/memory"
)

// TestWarps asks a kernel that is compiled like all others whether it has warps,
// which must be what Warps says. VOLLEY_REQUIRE=subgroups makes a device without
// a failure.
func TestWarps(t *testing.T) {
	infos, err := driver.List()
	required := strings.Contains(","+os.Getenv("VOLLEY_REQUIRE")+",", ",subgroups,")
	if err != nil && (required || !errors.Is(err, device.ErrUnavailable)) {
		t.Fatal(err)
	}
	for i, info := range infos {
		d, err := driver.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		warps, err := Warps(d)
		if err != nil {
			t.Errorf("%s offers sub-groups that do not work: %v", d.Name(), err)
		}
		t.Logf("%s (%s, %s): warps %v", d.Name(), info.Model, info.Driver, warps)
		if required && !warps {
			t.Errorf("VOLLEY_REQUIRE asks for sub-groups, which %s does not use: its features are %v", d.Name(), info.Features)
		}
		if compiled := compiledWith(t, d); compiled != warps {
			t.Errorf("%s: a kernel with warps: %v, want %v", d.Name(), compiled, warps)
		}
	}
}

// compiledWith reports whether kernels on d are compiled with warps.
func compiledWith(t *testing.T, d device.Device) bool {
	t.Helper()
	src, err := dialect(d).Compile("have", "KERNEL(GROUP) have(GLOBAL u32 *out) { out[TID] = HAVE_WARP; }\n")
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.LoadModule(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("have")
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	there, err := memory.New(d.Memory(), 4*probeGroup)
	if err != nil {
		t.Fatal(err)
	}
	defer there.Release()
	here, err := memory.New(d.Pinned(), 4)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Release()
	if err := s.Launch(f, device.Grid{Groups: [3]int64{1}, Items: [3]int{probeGroup}}, there); err != nil {
		t.Fatal(err)
	}
	if err := s.Copy(here, 0, there, 0, 4); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint32(here.Bytes()) == 1
}
