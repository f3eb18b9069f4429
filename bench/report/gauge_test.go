package report

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func TestGauge(t *testing.T) {
	if _, err := NewGauge(0); err == nil {
		t.Error("a gauge without threads")
	}
	g, err := NewGauge(2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Read(context.Background())
	if err != nil || !(r.FMAs > 0.01 && r.ReadGBs > 0.01 && r.CopyGBs > 0.01) {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
}

func TestReading(t *testing.T) {
	r := Reading{FMAs: 10, ReadGBs: 20, CopyGBs: 30}
	for i, half := range []Reading{{5, 20, 30}, {10, 10, 30}, {10, 20, 15}} {
		if !half.Fell(r, 0.75) || r.Fell(half, 0.75) {
			t.Errorf("reading %d: half of a figure is no fall, or the double is", i)
		}
		if half.Best(r) != r {
			t.Errorf("reading %d: the best is %+v", i, half.Best(r))
		}
	}
}

func TestCPUTime(t *testing.T) {
	before, err := CPUTime()
	if errors.Is(err, ErrNotKnown) {
		return
	}
	after := before
	for start := time.Now(); err == nil && after <= before && time.Since(start) < 10*time.Second; {
		for range 1000 {
			runtime.KeepAlive(sumWords(make([]uint64, 1000)))
		}
		after, err = CPUTime()
	}
	if err != nil || after <= before {
		t.Errorf("%v and then %v, error %v", before, after, err)
	}
}
