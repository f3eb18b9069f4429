package gemm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	driver "github.com/volley-go/volley/device/opencl"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/opencl"
	"github.com/volley-go/volley/memory"
)

// sink keeps what the suite finds.
type sink struct{ records []report.Record }

func (s *sink) Record(r report.Record) error { s.records = append(s.records, r); return nil }
func (s *sink) Answer(report.Answer) error   { return errors.New("an answer") }

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		elements int64
		want     []int64
	}{{1, []int64{1}}, {99, []int64{9}}, {1 << 20, []int64{1024}}, {1e8, []int64{1024, 4096, 8192}}} {
		if got := orders(c.elements); !slices.Equal(got, c.want) {
			t.Errorf("%d elements: %v", c.elements, got)
		}
	}
}

// right checks the records of float32 and float64 of each engine.
func right(t *testing.T, b *kernels.Backend, rows int64) {
	t.Helper()
	s := new(sink)
	o := Options{Engines: []Engine{{"volley", b}, {"other", b}}, Rows: rows, Runs: 2}
	if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	n := orders(rows)[0]
	var got []string
	for _, r := range s.records {
		got = append(got, r.Op+" "+r.Engine)
		f := 2 * float64(n*n*n) / *r.MedianS / 1e9
		if r.OK == nil || !*r.OK || r.Device != b.Device.Name() || r.GFLOPs == nil || *r.GFLOPs < f*0.999 || *r.GFLOPs > f*1.001 {
			t.Errorf("%s: %+v", r.Label(), r)
		}
	}
	var want []string
	for _, op := range []string{"gemm_f32", "gemm_f64"} {
		for _, e := range []string{"volley", "other"} {
			want = append(want, fmt.Sprintf("%s_%d %s", op, n, e))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestHost(t *testing.T) {
	counted := memory.NewTraced(memory.Heap)
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	right(t, b, 1)
	right(t, b, 130*130)
	if err := errors.Join(b.Close(), counted.Check()); err != nil {
		t.Error(err)
	}
}

func TestElsewhere(t *testing.T) {
	b := kerneltest.Remote(memory.Place{Type: memory.CUDA}, cpu.Generic())
	right(t, b, 1000)
	if n := b.Device.(interface{ InUse() int64 }).InUse(); n != 0 {
		t.Errorf("%d bytes are left on the device", n)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenCL runs on the OpenCL devices that are here, if any.
func TestOpenCL(t *testing.T) {
	infos, err := driver.List()
	if err != nil && !errors.Is(err, device.ErrUnavailable) {
		t.Fatal(err)
	}
	for i := range infos {
		d, err := driver.Open(i)
		if err != nil {
			t.Fatal(err)
		}
		b := opencl.New(d)
		right(t, b, 100*100)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWrong runs the suite with products that are off in one corner, and with an
// engine for one type.
func TestWrong(t *testing.T) {
	b, err := cpu.New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	set := *b.Set
	set.GEMM.Types = kernels.TypesOf(arrow.FLOAT64)
	for _, corner := range []int64{0, 99} {
		set.GEMM.Func = func(ctx context.Context, s device.Stream, ta, tb bool, alpha float64, x, y kernels.Matrix, beta float64, c kernels.Matrix) error {
			err := b.Set.GEMM.Func(ctx, s, ta, tb, alpha, x, y, beta, c)
			memory.View[float64](c.Data)[corner*100+corner] += 1e-9
			return err
		}
		s := new(sink)
		bad := &kernels.Backend{Device: b.Device, Set: &set}
		if err := Run(context.Background(), Options{Engines: []Engine{{"volley", bad}}, Rows: 10_000, Runs: 1}, s, progress.Nothing()); err != nil {
			t.Fatal(err)
		}
		if len(s.records) != 1 || !s.records[0].Wrong() {
			t.Errorf("corner %d: %+v", corner, s.records)
		}
	}
}

func TestRefusals(t *testing.T) {
	counted := memory.NewTraced(memory.Heap)
	fake := devicetest.NewFake(host.New(host.WithAllocator(counted)))
	b, err := cpu.New(fake)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Engines: []Engine{{"volley", b}}, Runs: 1}
	if err := Run(context.Background(), o, new(sink), progress.Nothing()); err == nil || !strings.Contains(err.Error(), "0 elements") {
		t.Error(err)
	}
	o.Rows = 100
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ended, o, new(sink), progress.Nothing()); !errors.Is(err, context.Canceled) && !errors.Is(err, device.ErrCanceled) {
		t.Error(err)
	}
	for n := range int64(3) {
		fake.FailAllocations(n)
		if err := Run(context.Background(), o, new(sink), progress.Nothing()); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("allocation %d: %v", n, err)
		}
	}
	fake.FailAllocations(-1)
	if err := errors.Join(b.Close(), counted.Check()); err != nil {
		t.Error(err)
	}
}
