package transfer

import (
	"context"
	"errors"
	"strings"
	"testing"

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
type sink struct {
	records []report.Record
	answers []report.Answer
}

func (s *sink) Record(r report.Record) error { s.records = append(s.records, r); return nil }
func (s *sink) Answer(a report.Answer) error { s.answers = append(s.answers, a); return nil }

func run(t *testing.T, b *kernels.Backend, o Options) *sink {
	t.Helper()
	s := new(sink)
	o.Backends, o.Runs = []*kernels.Backend{b}, 2
	if err := Run(context.Background(), o, s, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	return s
}

// all checks that each path of a device was measured and is right.
func all(t *testing.T, s *sink, link float64) {
	t.Helper()
	if len(s.records) != len(paths) || len(s.answers) != 0 {
		t.Fatalf("%d records, %d answers", len(s.records), len(s.answers))
	}
	for i, r := range s.records {
		bytes := int64(8 * 5000)
		if i == 0 {
			bytes *= 2 // read and written
		}
		if r.Op != paths[i].name || r.OK == nil || !*r.OK || *r.Bytes != bytes || r.Runs != 2 || r.Model == "" {
			t.Errorf("%s: %+v", r.Label(), r)
		}
		switch {
		case (r.ShareOfLimit != nil) != (i > 0 && link > 0):
			t.Errorf("%s: a share of %v", r.Label(), r.ShareOfLimit)
		case r.ShareOfLimit != nil && *r.ShareOfLimit != *r.GBs/link:
			t.Errorf("%s: %v of %v is a share of %v", r.Label(), *r.GBs, link, *r.ShareOfLimit)
		}
	}
}

func TestHost(t *testing.T) {
	counted := memory.NewTraced(memory.Heap)
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, b, Options{Rows: 5000, Limit: report.Bandwidth{CopyGBs: 4}})
	if len(s.records) != 1 || s.records[0].Op != "device_copy" || !*s.records[0].OK || *s.records[0].ShareOfLimit != *s.records[0].GBs/4 {
		t.Errorf("%+v", s.records)
	}
	if len(s.answers) != 1 || !strings.Contains(s.answers[0].Grid.Rows[0][1], "nothing to transfer") {
		t.Errorf("%+v", s.answers)
	}
	if err := errors.Join(b.Close(), counted.Check()); err != nil {
		t.Error(err)
	}
}

func TestElsewhere(t *testing.T) {
	b := kerneltest.Remote(memory.Place{Type: memory.CUDA}, cpu.Generic())
	all(t, run(t, b, Options{Rows: 5000}), 0)
	all(t, run(t, b, Options{Rows: 5000, LinkGBs: 50}), 50)
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
		all(t, run(t, b, Options{Rows: 5000, LinkGBs: 50}), 50)
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWrong spoils what has arrived: it must be noticed.
func TestWrong(t *testing.T) {
	b, err := cpu.New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx := context.Background()
	for _, at := range []int{0, 799} {
		c, err := newCopying(ctx, b, paths[0], 800)
		if err != nil {
			t.Fatal(err)
		}
		if right, err := c.arrived(ctx); right || err != nil {
			t.Errorf("before the copy: %v, %v", right, err)
		}
		if err := c.run(ctx); err != nil {
			t.Fatal(err)
		}
		if right, err := c.arrived(ctx); !right || err != nil {
			t.Errorf("after it: %v, %v", right, err)
		}
		c.to.Bytes()[at] ^= 1
		if right, err := c.arrived(ctx); right || err != nil {
			t.Errorf("with byte %d another: %v, %v", at, right, err)
		}
		c.close()
	}
}

func TestRefusals(t *testing.T) {
	counted := memory.NewTraced(memory.Heap)
	fake := devicetest.NewFake(host.New(host.WithAllocator(counted)))
	b, err := cpu.New(fake)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Backends: []*kernels.Backend{b}, Runs: 1}
	if err := Run(context.Background(), o, new(sink), progress.Nothing()); err == nil || !strings.Contains(err.Error(), "0 rows") {
		t.Error(err)
	}
	o.Rows = 100
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Run(ended, o, new(sink), progress.Nothing()); !errors.Is(err, context.Canceled) && !errors.Is(err, device.ErrCanceled) {
		t.Error(err)
	}
	for n := range int64(2) {
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
