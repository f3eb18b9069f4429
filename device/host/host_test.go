package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

func TestCopyFillInOrder(t *testing.T) {
	d := host.New()
	defer d.Close()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := memory.New(d.Memory(), 10000)
	b, _ := memory.New(d.Memory(), 10000)
	for _, err := range []error{
		s.Fill(a, 0, 10000, 7),
		s.Fill(a, 10, 5000, 9),
		s.Copy(b, 0, a, 5, 9995),
		s.Wait(context.Background()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range b.Bytes()[:9995] {
		want := byte(7)
		if i >= 5 && i < 5005 {
			want = 9
		}
		if v != want {
			t.Fatalf("byte %d is %d, not %d", i, v, want)
		}
	}
	a.Release()
	b.Release()
}

func TestGoexitOfCallIsAFailure(t *testing.T) {
	d := host.New()
	defer d.Close()
	s, _ := d.NewStream()
	if err := s.Call("leaves", func() error { runtime.Goexit(); return nil }); err != nil {
		t.Fatal(err)
	}
	err := s.Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "leaves") {
		t.Fatalf("got %v", err)
	}
}

func TestGoexitOfGroupIsAFailure(t *testing.T) {
	d := host.New()
	defer d.Close()
	m, err := d.LoadModule(t.Context(), device.Source{Host: map[string]device.HostFunction{
		"leaves": func(_ context.Context, g device.Group, _ []any) error {
			if g.ID[0] == 5 {
				runtime.Goexit()
			}
			return nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Function("leaves")
	s, _ := d.NewStream()
	if err := s.Launch(f, device.Grid{Groups: [3]int64{20}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(context.Background()); err == nil || !strings.Contains(err.Error(), "leaves") {
		t.Fatalf("got %v", err)
	}
}

func TestContextEndsLaunch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := host.New(host.WithContext(ctx))
	defer d.Close()
	var ran atomic.Int64
	m, _ := d.LoadModule(t.Context(), device.Source{Host: map[string]device.HostFunction{
		"spin": func(ctx context.Context, _ device.Group, _ []any) error {
			if ran.Add(1) == 3 {
				cancel()
			}
			if ran.Load() >= 3 {
				<-ctx.Done()
			}
			return nil
		}}})
	f, _ := m.Function("spin")
	s, _ := d.NewStream()
	if err := s.Launch(f, device.Grid{Groups: [3]int64{1 << 40}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context()); !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestInfo(t *testing.T) {
	d := host.New()
	defer d.Close()
	i := d.Info()
	if i.Name != "cpu" || i.Model == "" || i.Units != runtime.GOMAXPROCS(0) || i.Lanes < 4 || !i.Unified {
		t.Fatalf("%+v", i)
	}
	if runtime.GOOS == "linux" && (i.Memory < 64<<20 || i.MemoryFree <= 0 || i.MemoryFree > i.Memory) {
		t.Fatalf("memory %d, free %d", i.Memory, i.MemoryFree)
	}
}

// BenchmarkWaitIdle is what a host kernel pays for the stream at its entry.
func BenchmarkWaitIdle(b *testing.B) {
	d := host.New()
	defer d.Close()
	s, _ := d.NewStream()
	for b.Loop() {
		if err := s.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallWait is a piece of work on a stream, waited for.
func BenchmarkCallWait(b *testing.B) {
	d := host.New()
	defer d.Close()
	s, _ := d.NewStream()
	for b.Loop() {
		if err := s.Call("nothing", func() error { return nil }); err != nil {
			b.Fatal(err)
		}
		if err := s.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
