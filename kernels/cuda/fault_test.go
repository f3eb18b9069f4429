package cuda_test

import (
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	driver "github.com/volley-go/volley/device/cuda"
	"github.com/volley-go/volley/internal/cuemu"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cuda"
	"github.com/volley-go/volley/memory"
)

// TestCyclesOfBackends opens and closes the device with its kernels 1,000
// times, with work in one of 50; the emulator counts what is left.
func TestCyclesOfBackends(t *testing.T) {
	if len(backends(t)) == 0 {
		return
	}
	if _, err := cuemu.Count("allocations"); errors.Is(err, cuemu.ErrReal) {
		t.Log(err) // which does not count
		return
	}
	left := func() map[string]int64 {
		all := map[string]int64{}
		for _, kind := range []string{"modules", "allocations", "pinned", "registered", "streams", "events"} {
			n, err := cuemu.Count(kind)
			if err != nil {
				t.Fatal(err)
			}
			all[kind] = n
		}
		return all
	}
	before := left()
	values := make([]kernels.Scalar, 1000)
	for i := range values {
		values[i] = kernels.Int64(int64(i))
	}
	host, err := kernels.FromScalars(memory.Heap, arrow.PrimitiveTypes.Int64, values)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Release()
	for i := range 1000 {
		d, err := driver.Open(0)
		if err != nil {
			t.Fatal(err)
		}
		b := cuda.New(d)
		if i%50 == 0 {
			work(t, b, host)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		after := left()
		same := true
		for kind, n := range after {
			same = same && n <= before[kind]
		}
		if same {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v are left, %v before", after, before)
		}
	}
}

// work sums a column that is 0, 1, 2, …
func work(t *testing.T, b *kernels.Backend, host *memory.Column) {
	t.Helper()
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	c, err := device.Move(t.Context(), s, b.Device.Memory(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	sum, err := b.Reduce(t.Context(), s, kernels.Sum, c, kernels.AggregateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer sum.Release()
	back, err := b.OnHost(t.Context(), s, sum)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Release()
	if v, n := memory.Values[int64](back)[0], host.Len(); v != n*(n-1)/2 {
		t.Errorf("the sum is %d", v)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
