package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func TestBenchJSON(t *testing.T) {
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "bench", "flights", "--json", "--device", "cpu,cuda:0", "--data", "d/f.parquet", "--runs", "3", "--threads", "2")
	want := `{"suite":"flights","op":"query: read","engine":"volley","device":"cpu","rows":1000000,"median_s":0.5,"min_s":0.5,"runs":1,"bytes":1000000000,"gb_s":2,"share_of_limit":0.2,"ok":true}
{"suite":"flights","op":"query: compute","engine":"volley","device":"cpu","rows":1000000,"median_s":0.5,"min_s":0.5,"runs":1,"bytes":1000000000,"gb_s":2,"share_of_limit":0.2,"ok":true}
{"suite":"flights","answer":{"WY":133}}
`
	if r.status != 0 || r.stdout != want {
		t.Errorf("status %d\n%s\n%s", r.status, r.stdout, r.stderr)
	}
	if !strings.Contains(r.stderr, "query: read: done in") || !strings.Contains(r.stderr, "calibrate") {
		t.Errorf("progress: %q", r.stderr)
	}
	o := f.flights[0]
	if o.Data != "d/f.parquet" || o.Airports != filepath.Join("d", "airports.csv") || !slices.Equal(o.Devices, []string{"cpu", "cuda:0"}) || o.Runs != 3 || o.Threads != 2 || o.Limit.ReadGBs != 10 {
		t.Errorf("told %+v", o)
	}
}

func TestBenchText(t *testing.T) {
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "bench", "columnar", "--rows", "2e3", "--ops", "sort")
	for _, want := range []string{"Machine\n", "By state\nstate  count\n", "Steps of columnar\n", "sort  volley  cpu     2,000", "20.0 %"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r.status != 0 || f.columnar[0].Rows != 2000 || !slices.Equal(f.columnar[0].Ops, []string{"sort"}) || len(f.columnar[0].Devices) != 0 {
		t.Errorf("status %d, told %+v", r.status, f.columnar[0])
	}
	call(t, context.Background(), f.deps(), "bench", "columnar", "--rows", "1_000")
	if o := f.columnar[1]; o.Rows != 1000 || !slices.Equal(o.Ops, []string{"filter", "sort"}) {
		t.Errorf("told %+v", o)
	}
}

func TestBenchSuites(t *testing.T) {
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "bench", "columnar,gemm,transfer", "--device", "cuda:0", "--rows", "2e3", "--link", "63")
	if r.status != 0 || !strings.Contains(r.stdout, "Steps of columnar, gemm, transfer\n") {
		t.Fatalf("%+v", r)
	}
	if f.columnar[0].Rows != 2000 || f.gemm[0].Rows != 2000 || f.transfer[0].Rows != 2000 || f.transfer[0].LinkGBs != 63 ||
		!slices.Equal(f.gemm[0].Devices, []string{"cuda:0"}) || !slices.Equal(f.columnar[0].Ops, []string{"filter", "sort"}) {
		t.Errorf("told %+v, %+v, %+v", f.columnar, f.gemm, f.transfer)
	}
	for _, one := range []string{"gemm", "transfer"} {
		if r := call(t, context.Background(), f.deps(), "bench", one, "--rows", "50"); r.status != 0 || !strings.Contains(r.stdout, "Steps of "+one+"\n") {
			t.Errorf("%+v", r)
		}
	}
	if f.gemm[1].Rows != 50 || f.transfer[1].Rows != 50 || len(f.columnar) != 1 {
		t.Errorf("told %+v, %+v, %+v", f.columnar, f.gemm, f.transfer)
	}
	for _, c := range []struct{ args, want string }{
		{"bench gemm,flights", `"flights"`}, {"bench gemm,gemm", `repeated suite "gemm"`}, {"bench gemm,", `unknown or repeated suite ""`}, {"bench jemm", `"jemm"`},
		{"bench gemm,transfer --link -1", "--link"}, {"bench transfer --link NaN", "--link"}, {"bench gemm --runs 0", "--runs"}, {"bench gemm,transfer --ops x", "--ops"},
	} {
		if r := call(t, context.Background(), f.deps(), strings.Fields(c.args)...); r.status != statusUsage || !strings.Contains(r.stderr, c.want) {
			t.Errorf("volley %s: %+v", c.args, r)
		}
	}
	if r := call(t, context.Background(), (&fakes{fail: errBroken}).deps(), "bench", "gemm,transfer"); r.status != statusFailure || !strings.HasSuffix(r.stderr, "the disk is on fire\n") {
		t.Errorf("%+v", r)
	}
}

func TestBenchOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := call(t, context.Background(), (&fakes{}).deps(), "bench", "flights", "--json", "--out", dir)
	if r.status != 0 {
		t.Fatal(r)
	}
	var names []string
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
		if !strings.Contains(r.stderr, filepath.Join(dir, f.Name())) {
			t.Errorf("%s is not named", f.Name())
		}
	}
	if want := []string{"flights-limit.png", "flights-time.png", "flights.html", "flights.jsonl"}; !slices.Equal(names, want) {
		t.Fatalf("wrote %q, want %q", names, want)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "flights.jsonl"))
	if err != nil || string(lines) != r.stdout {
		t.Errorf("%v: the file has\n%s", err, lines)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "flights-time.png"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		t.Error(err)
	}
}

func TestBenchWrongAnswer(t *testing.T) {
	dir := t.TempDir()
	r := call(t, context.Background(), (&fakes{wrong: true}).deps(), "bench", "flights", "--out", dir)
	if r.status != statusFailure || !strings.Contains(r.stderr, "volley: wrong answers (1): flights/query: read volley on cpu\n") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "flights.html"))
	if err != nil || !bytes.Contains(page, []byte("Wrong answers: ")) {
		t.Errorf("%v: the page hides the wrong answer", err)
	}
}

func TestBenchFailure(t *testing.T) {
	dir := t.TempDir()
	r := call(t, context.Background(), (&fakes{fail: errBroken}).deps(), "bench", "flights", "--out", dir)
	if r.status != statusFailure || !strings.HasSuffix(r.stderr, "volley: the disk is on fire\n") || !strings.Contains(r.stdout, "query: read") {
		t.Errorf("%+v", r)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v: a suite that failed wrote %v", err, files)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f := &fakes{}
	if r := call(t, context.Background(), f.deps(), "bench", "flights", "--out", filepath.Join(file, "x")); r.status != statusFailure || len(f.flights) > 0 {
		t.Errorf("a folder that cannot be made: %+v after %d suites", r, len(f.flights))
	}
	d := f.deps()
	d.flights = func(_ context.Context, _ flightsOptions, to report.Sink, _ progress.Progress) error {
		return to.Record(report.Record{Op: "of no suite"})
	}
	if r := call(t, context.Background(), d, "bench", "flights"); r.status != statusFailure || !strings.Contains(r.stderr, "no suite") {
		t.Errorf("a bad record: %+v", r)
	}
}

func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	d := (&fakes{}).deps()
	d.flights = func(ctx context.Context, _ flightsOptions, to report.Sink, p progress.Progress) error {
		p.Start("endless", 0)
		if err := to.Record(report.Record{Suite: "flights", Op: "before"}); err != nil {
			return err
		}
		cancel(errors.New("a signal"))
		<-ctx.Done()
		return context.Cause(ctx)
	}
	r := call(t, ctx, d, "bench", "flights", "--json")
	if r.status != statusInterrupted || !strings.HasSuffix(r.stderr, "volley: interrupted\n") {
		t.Errorf("%+v", r)
	}
	if !json.Valid([]byte(r.stdout)) || !strings.Contains(r.stdout, "before") {
		t.Errorf("what was found before the interrupt: %q", r.stdout)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct {
		text string
		fail error
		want string
	}{{"old", nil, "old"}, {"half of the n", errBroken, "old"}, {"new", nil, "new"}} {
		err := writeFile(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, c.text); err != nil {
				return err
			}
			return c.fail
		})
		if err != c.fail {
			t.Errorf("%q: %v", c.text, err)
		}
		files, rerr := os.ReadDir(filepath.Dir(path))
		if got, err := os.ReadFile(path); err != nil || rerr != nil || string(got) != c.want || len(files) != 1 {
			t.Errorf("after %q the file has %q, the folder %v: %v, %v", c.text, got, files, err, rerr)
		}
	}
}

func TestWriteFilesRefusesBadRecords(t *testing.T) {
	dir := t.TempDir()
	if paths, err := writeFiles(dir, "x", &report.Page{Records: []report.Record{{}}}); err == nil || len(paths) > 0 {
		t.Errorf("a record without a suite was written to %q", paths)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("%v: left %v", err, files)
	}
}
