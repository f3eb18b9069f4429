package report

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestMeasureRuns(t *testing.T) {
	calls := 0
	got, err := Measure(context.Background(), 4, func(context.Context) error { calls++; return nil })
	if err != nil || calls != 5 || len(got.Seconds) != 4 {
		t.Errorf("%d calls, %+v, %v", calls, got, err)
	}
	if _, err := Measure(context.Background(), 0, func(context.Context) error { return nil }); err == nil {
		t.Error("no runs, no error")
	}
}

func TestMeasureStops(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	got, err := Measure(context.Background(), 9, func(context.Context) error {
		if calls++; calls == 3 {
			return boom
		}
		return nil
	})
	if err != boom || calls != 3 || len(got.Seconds) != 1 {
		t.Errorf("after an error: %d calls, %+v, %v", calls, got, err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	calls = 0
	got, err = Measure(ctx, 9, func(context.Context) error {
		if calls++; calls == 4 {
			cancel(why)
		}
		return nil
	})
	if !errors.Is(err, why) || !errors.Is(err, context.Canceled) || calls != 4 || len(got.Seconds) != 3 {
		t.Errorf("after a cancel: %d calls, %+v, %v", calls, got, err)
	}
}

func TestTiming(t *testing.T) {
	odd, even := Timing{Seconds: []float64{3, 1, 2}}, Timing{Seconds: []float64{4, 1, 2, 3}}
	if odd.Median() != 2 || even.Median() != 2.5 || odd.Min() != 1 || odd.Seconds[0] != 3 {
		t.Errorf("%v %v %v", odd.Median(), even.Median(), odd)
	}
	if (Timing{}).Median() != 0 || (Timing{}).Min() != 0 {
		t.Error("a Timing without runs is not zero")
	}
}

func TestCalibrate(t *testing.T) {
	for _, threads := range []int{1, 3} {
		b, err := calibrate(context.Background(), threads, 9<<20+40, time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if b.ReadGBs <= 0 || b.CopyGBs <= 0 || b.Threads != threads || b.BufferBytes != 9<<20+40 {
			t.Errorf("%+v", b)
		}
	}
	if _, err := Calibrate(context.Background(), 0); err == nil {
		t.Error("no threads, no error")
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := Calibrate(ctx, 1); !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled calibration gave %v", err)
	}
}

func TestSumWords(t *testing.T) {
	for n := range 40 {
		w, want := make([]uint64, n), uint64(0)
		for i := range w {
			w[i] = uint64(i*i + 7)
			want += w[i]
		}
		if got := sumWords(w); got != want {
			t.Errorf("%d words: %d, want %d", n, got, want)
		}
	}
}
