package opencl

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels/gpu"
	"github.com/volley-go/volley/memory"
)

// withWarps are the macros that make the prelude take sub-groups as warps.
var withWarps = map[string]string{"SUB_GROUPS": "1"}

// warpsProbe is what warps must do: lanes in the order of the items, votes and
// shuffles among 32, also where another warp of the group does not come along.
const warpsProbe = `KERNEL(GROUP) warps(GLOBAL u32 *out) {
  u32 odd = (u32)TID * 2654435761u;
  out[TID] = (u32)LANE;
  out[GROUP + TID] = BALLOT(odd >> 31);
  out[2 * GROUP + TID] = SHUFFLE(odd, 31 - LANE);
  out[3 * GROUP + TID] = 0;
  if (TID >> 5 == 3) {
    u32 sum = odd;
    for (int d = 16; d > 0; d >>= 1) sum += SHUFFLE_XOR(sum, d);
    out[3 * GROUP + TID] = sum;
  }
  u64 up = SHUFFLE_UP((u64)odd << 16, 1);
  out[4 * GROUP + TID] = LANE >= 1 ? (u32)(up >> 16) : odd;
}
`

// Warps reports whether kernels on a device use its sub-groups as warps of 32
// lanes. That a device offers the size is not enough, since OpenCL leaves it
// to the device which items of a group are in a sub-group: a kernel is run and
// its answer looked at. The error is why a device that offers them is not
// taken at its word; kernels then go through local memory, as on every device
// without them.
func Warps(dev device.Device) (bool, error) {
	if !slices.Contains(dev.Info().Features, "subgroups-32") {
		return false, nil
	}
	got, err := runProbe(dev)
	if err != nil {
		return false, err
	}
	want := probeAnswer()
	for i := range want {
		if got[i] != want[i] {
			return false, device.Errorf(device.ErrUnsupported, dev.Name(), "warps", "sub-groups of 32: item %d has %#x in row %d, want %#x", i%probeGroup, got[i], i/probeGroup, want[i])
		}
	}
	return true, nil
}

const (
	probeGroup = 256 // GROUP
	probeRows  = 5
)

func probeAnswer() (want [probeRows * probeGroup]uint32) {
	odd := func(i int) uint32 { return uint32(i) * 2654435761 }
	for i := range probeGroup {
		first, lane := i&^31, i&31
		want[i] = uint32(lane)
		var sum uint32
		for k := range 32 {
			want[probeGroup+i] |= odd(first+k) >> 31 << k
			sum += odd(first + k)
		}
		want[2*probeGroup+i] = odd(first + 31 - lane)
		if i>>5 == 3 {
			want[3*probeGroup+i] = sum
		}
		want[4*probeGroup+i] = odd(max(i-1, first))
	}
	return want
}

func runProbe(dev device.Device) (got [probeRows * probeGroup]uint32, err error) {
	ctx := context.Background() // the first caller's context is not that of the others who wait for the answer
	text, err := gpu.Wrap(prelude, "warps", warpsProbe)
	if err != nil {
		return got, err
	}
	m, err := dev.LoadModule(ctx, device.Source{Name: "warps", Text: text, Defines: withWarps})
	if err != nil {
		return got, err
	}
	defer func() {
		if closed := m.Close(); err == nil {
			err = closed
		}
	}()
	f, err := m.Function("warps")
	if err != nil {
		return got, err
	}
	s, err := dev.NewStream()
	if err != nil {
		return got, err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	size := int64(binary.Size(got))
	there, err := memory.New(dev.Memory(), size)
	if err != nil {
		return got, err
	}
	defer there.Release()
	here, err := memory.New(dev.Pinned(), size)
	if err != nil {
		return got, err
	}
	defer here.Release()
	if err = s.Launch(f, device.Grid{Groups: [3]int64{1}, Items: [3]int{probeGroup}}, there); err != nil {
		return got, err
	}
	if err = s.Copy(here, 0, there, 0, size); err != nil {
		return got, err
	}
	if err = s.Wait(ctx); err != nil {
		return got, err
	}
	for i := range got {
		got[i] = binary.NativeEndian.Uint32(here.Bytes()[4*i:])
	}
	return got, nil
}
