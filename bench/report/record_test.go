package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"testing"
)

func TestWriterLines(t *testing.T) {
	full := Record{
		Suite: "flights", Op: "query: compute", Engine: "volley", Version: "v0.1.0", Device: "cpu",
		Rows: Of(int64(1_000_000)), Threads: 2, PeakRSSBytes: Of(int64(123)), OK: Of(true),
	}
	full.SetTiming(Timing{WarmUp: 9, Seconds: []float64{0.5, 0.25, 1}})
	full.SetBytes(2_000_000_000, 16)
	for _, c := range []struct {
		name string
		in   Record
		want string
	}{
		{"all fields", full, `{"suite":"flights","op":"query: compute","engine":"volley","version":"v0.1.0","device":"cpu","rows":1000000,"threads":2,"median_s":0.5,"min_s":0.25,"runs":3,"bytes":2000000000,"gb_s":4,"share_of_limit":0.25,"peak_rss_bytes":123,"ok":true}`},
		{"no field", Record{Suite: "s"}, `{"suite":"s"}`},
		{"measured zeros and a wrong answer", Record{Suite: "s", Rows: Of(int64(0)), MedianS: Of(0.0), Bytes: Of(int64(0)), OK: Of(false)}, `{"suite":"s","rows":0,"median_s":0,"bytes":0,"ok":false}`},
	} {
		var b bytes.Buffer
		if err := NewWriter(&b).Record(c.in); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want+"\n" {
			t.Errorf("%s:\n got %s\nwant %s", c.name, b.String(), c.want)
		}
		var back Record
		if err := json.Unmarshal(b.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		if back.Wrong() != c.in.Wrong() || (back.Rows == nil) != (c.in.Rows == nil) {
			t.Errorf("%s: came back as %+v", c.name, back)
		}
	}
}

func TestWriterAnswer(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	if err := w.Answer(Answer{Suite: "flights", Value: map[string]any{"states": 48}, Grid: &Grid{Title: "x"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Answer(Answer{Suite: "flights"}); err != nil {
		t.Fatal(err)
	}
	want := `{"suite":"flights","answer":{"states":48}}` + "\n" + `{"suite":"flights","answer":null}` + "\n"
	if b.String() != want {
		t.Errorf("got %swant %s", b.String(), want)
	}
}

func TestWriterRefuses(t *testing.T) {
	for name, r := range map[string]Record{
		"no suite":       {Op: "filter"},
		"NaN":            {Suite: "s", MedianS: Of(math.NaN())},
		"infinite":       {Suite: "s", GBs: Of(math.Inf(1))},
		"negative time":  {Suite: "s", MinS: Of(-1.0)},
		"negative rows":  {Suite: "s", Rows: Of(int64(-1))},
		"negative peak":  {Suite: "s", PeakRSSBytes: Of(int64(-1))},
		"negative runs":  {Suite: "s", Runs: -1},
		"negative bytes": {Suite: "s", Bytes: Of(int64(-1))},
	} {
		var b bytes.Buffer
		if err := NewWriter(&b).Record(r); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v, wrote %q", name, err, b.String())
		}
	}
	var b bytes.Buffer
	for name, a := range map[string]Answer{"no suite": {Value: 1}, "no JSON": {Suite: "s", Value: func() {}}} {
		if err := NewWriter(&b).Answer(a); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v, wrote %q", name, err, b.String())
		}
	}
	if err := NewWriter(closedPipe{}).Record(Record{Suite: "s"}); !errors.Is(err, errClosed) {
		t.Errorf("a failed write gave %v", err)
	}
}

var errClosed = errors.New("closed")

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }

func TestSetBytesWithoutTime(t *testing.T) {
	r := Record{Suite: "s"}
	r.SetBytes(10, 5)
	if *r.Bytes != 10 || r.GBs != nil || r.ShareOfLimit != nil {
		t.Errorf("without a time: %+v", r)
	}
	r.SetTiming(Timing{Seconds: []float64{2}})
	r.SetBytes(10, 0)
	if r.GBs == nil || *r.GBs != 5e-9 || r.ShareOfLimit != nil {
		t.Errorf("without a limit: %+v", r)
	}
	if _, ok := r.RowsPerSecond(); ok {
		t.Error("rows per second without rows")
	}
	r.SetTiming(Timing{})
	if r.MedianS != nil || r.MinS != nil || r.Runs != 0 {
		t.Errorf("a Timing without runs left %+v", r)
	}
}
