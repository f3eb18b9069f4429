package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

const flightsFolder = "../../testdata/flights/"

var scripts = regexp.MustCompile(`(?s)(<script[^>]*>).*?</script>`)

// whole runs the command as main does, with the real library.
func whole(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	status := run(ctx, args, &bytes.Buffer{}, &out, &err)
	return result{status, out.String(), err.String()}
}

// cut writes the first rows of the real flights to a Parquet file, beside the
// airports, and returns its path.
func cut(t *testing.T, rows int64) string {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	few, err := storage.ScanParquet(flightsFolder + "flights-1m.parquet").On(b).Head(rows).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer few.Release()
	path := filepath.Join(dir, "few.parquet")
	if err := storage.WriteParquet(ctx, few, path, storage.ParquetOptions{RowGroupRows: rows / 3}); err != nil {
		t.Fatal(err)
	}
	airports, err := os.ReadFile(flightsFolder + "airports.csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "airports.csv"), airports, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// lines decodes standard output, all of which must be objects of JSON, one a
// line, with known fields.
func lines(t *testing.T, stdout, suite string) (records, answers []map[string]any) {
	t.Helper()
	known := map[string]bool{}
	for _, f := range strings.Split("suite op engine version device model driver rows threads median_s min_s runs bytes gb_s share_of_limit gflop_s peak_rss_bytes ok", " ") {
		known[f] = true
	}
	for line := range strings.Lines(stdout) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if v["suite"] != suite {
			t.Errorf("%s is not of the suite %s", line, suite)
		}
		if _, ok := v["answer"]; ok {
			answers = append(answers, v)
			continue
		}
		for name := range v {
			if !known[name] {
				t.Errorf("the field %q in %s", name, line)
			}
		}
		for _, name := range []string{"op", "engine", "version", "device", "rows", "threads", "median_s", "min_s", "runs"} {
			if v[name] == nil {
				t.Errorf("no field %q in %s", name, line)
			}
		}
		records = append(records, v)
	}
	return records, answers
}

func TestWholeDevices(t *testing.T) {
	r := whole(context.Background(), "devices")
	if r.status != statusOK || !strings.Contains(r.stdout, "\ncpu ") || !strings.Contains(r.stdout, "ready") || r.stderr != "" {
		t.Errorf("%+v", r)
	}
	r = whole(context.Background(), "devices", "--json")
	kinds := map[string]int{}
	for line := range strings.Lines(r.stdout) {
		var d deviceInfo
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(d.Device, ":")
		kinds[kind]++
		if (d.Unavailable == "") != (d.Threads > 0) {
			t.Errorf("%s has %d threads and is unavailable for %q", d.Device, d.Threads, d.Unavailable)
		}
	}
	if r.status != statusOK || kinds["cpu"] != 1 || kinds["cuda"] == 0 || kinds["opencl"] == 0 || len(kinds) != 3 {
		t.Errorf("%v: %+v", kinds, r)
	}
}

func TestWholeFlights(t *testing.T) {
	data, out := cut(t, 20_000), t.TempDir()
	r := whole(context.Background(), "bench", "flights", "--device", "cpu", "--json", "--runs", "1", "--threads", "2", "--data", data, "--out", out)
	if r.status != statusOK {
		t.Fatalf("%+v", r)
	}
	records, answers := lines(t, r.stdout, "flights")
	var steps []string
	for _, v := range records {
		steps = append(steps, fmt.Sprintf("%v %v", v["engine"], v["op"]))
		if v["op"] != "read" && v["ok"] != true {
			t.Errorf("%v is not right", v)
		}
	}
	if got := strings.Join(steps, ", "); got != "volley read, volley query, volley fit, volley batches, reference query, reference fit" {
		t.Errorf("the steps are %s", got)
	}
	if len(answers) != 2 || answers[0]["answer"].(map[string]any)["rows"] != 20_000.0 {
		t.Errorf("%v", answers)
	}
	for _, want := range []string{"calibrate", "read " + data, "query, volley on cpu: done in"} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("no %q in %q", want, r.stderr)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "flights.html"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(page, []byte("default-src 'none'")) {
		t.Error("the page does not forbid itself to load anything")
	}
	markup := scripts.ReplaceAll(page, []byte("$1")) // their text is not markup
	for _, bad := range []string{" src=", " href=", "url(", "@import", "http://", "https://"} {
		if i := bytes.Index(markup, []byte(bad)); i >= 0 {
			t.Errorf("the page names something to load: %q", markup[i:min(len(markup), i+80)])
		}
	}
	if !bytes.Contains(page, []byte("nothing to transfer")) {
		t.Error("the page does not say that there was nothing to transfer")
	}
	again, err := os.ReadFile(filepath.Join(out, "flights.jsonl"))
	if err != nil || string(again) != r.stdout {
		t.Errorf("%v: the file differs from standard output", err)
	}
	text := whole(context.Background(), "bench", "flights", "--runs", "1", "--data", data)
	for _, want := range []string{"20,000 flights", "There is no answer by other software", "R² = ", "rows/s", "cpu works on host memory: nothing to transfer"} {
		if !strings.Contains(text.stdout, want) {
			t.Errorf("no %q in\n%s", want, text.stdout)
		}
	}
}

func TestWholeColumnar(t *testing.T) {
	r := whole(context.Background(), "bench", "columnar", "--rows", "1000", "--runs", "1", "--json")
	if r.status != statusOK {
		t.Fatalf("%+v", r)
	}
	records, _ := lines(t, r.stdout, "columnar")
	if len(records) < 10 {
		t.Errorf("%d records", len(records))
	}
	for _, v := range records {
		if v["ok"] != true || v["rows"] != 1000.0 {
			t.Errorf("%v", v)
		}
	}
}

// TestWholeSuites runs a list of suites.
func TestWholeSuites(t *testing.T) {
	r := whole(context.Background(), "bench", "gemm,transfer", "--device", "cpu", "--rows", "900", "--runs", "1", "--json")
	if r.status != statusOK {
		t.Fatalf("%+v", r)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(r.stdout) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v["answer"] == nil && (v["ok"] != true || v["driver"] == nil) {
			t.Errorf("%s", line)
		}
		seen[fmt.Sprintf("%v %v %v", v["suite"], v["op"], v["device"])] = true
	}
	for _, want := range []string{"gemm gemm_f32_30 cpu", "gemm gemm_f64_30 cpu", "transfer device_copy cpu"} {
		if !seen[want] {
			t.Errorf("no %s in %v", want, seen)
		}
	}
}

func TestWholeStatuses(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	missing := filepath.Join(t.TempDir(), "none.parquet")
	for _, c := range []struct {
		ctx    context.Context
		args   string
		status int
		want   string
	}{
		{context.Background(), "version --json", statusOK, ""},
		{context.Background(), "bench flights --data " + missing, statusFailure, "none.parquet"},
		{context.Background(), "convert " + missing + " x.csv", statusFailure, "none.parquet"},
		{context.Background(), "bench columnar --rows 10 --device cuda:9", statusFailure, "cuda:9"},
		{context.Background(), "bench columnar --ops jion", statusUsage, "jion"},
		{context.Background(), "bench columnar --rows -5", statusUsage, "at least 1"},
		{context.Background(), "bench flights --runs zero", statusUsage, "zero"},
		{ended, "bench flights --data " + missing, statusInterrupted, "interrupted"},
		{ended, "bench columnar --rows 1000", statusInterrupted, "interrupted"},
	} {
		r := whole(c.ctx, strings.Fields(c.args)...)
		if r.status != c.status || !strings.Contains(r.stderr, c.want) {
			t.Errorf("volley %s: %+v; want status %d and %q", c.args, r, c.status, c.want)
		}
	}
}

// TestWholeConvert goes once round the formats.
func TestWholeConvert(t *testing.T) {
	first := cut(t, 5000)
	dir := t.TempDir()
	paths := []string{first}
	for _, name := range []string{"a.csv", "b.arrow", "c.arrows", "d.parquet", "e.csv"} {
		path := filepath.Join(dir, name)
		r := whole(context.Background(), "convert", "--json", paths[len(paths)-1], path)
		if r.status != statusOK || r.stdout != `{"rows":5000,"skipped":0}`+"\n" {
			t.Fatalf("%s: %+v", name, r)
		}
		paths = append(paths, path)
	}
	a, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	e, err := os.ReadFile(paths[5])
	if err != nil || !bytes.Equal(a, e) || bytes.Count(a, []byte("\n")) != 5001 {
		t.Errorf("%v: the CSV files of %d and %d bytes differ", err, len(a), len(e))
	}
	b, err := volley.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	read := func(path string) *table.Table {
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := storage.Read(context.Background(), b, s, storage.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := read(first)
	defer want.Release()
	for _, path := range paths[2:5] {
		got := read(path)
		defer got.Release()
		for _, column := range []string{"delay", "distance"} {
			x, err := table.Values[int64](want, column)
			if err != nil {
				t.Fatal(err)
			}
			y, err := table.Values[int64](got, column)
			if err != nil {
				t.Fatal(err)
			}
			for i := range x {
				if x[i] != y[i] {
					t.Fatalf("%s: %s of row %d is %d, not %d", path, column, i, y[i], x[i])
				}
			}
		}
	}
}

func TestWholeConvertLenient(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "bad.csv"), filepath.Join(dir, "out.parquet")
	if err := os.WriteFile(in, []byte("a,b\n1,x\n2\n3,y\n4,z,more\n5,w\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r := whole(context.Background(), "convert", in, out)
	if r.status != statusFailure || !strings.Contains(r.stderr, in) || !strings.Contains(r.stderr, "3") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a failed conversion left a file")
	}
	r = whole(context.Background(), "convert", in, out, "--lenient", "--json")
	if r.status != statusOK || r.stdout != `{"rows":3,"skipped":2}`+"\n" {
		t.Errorf("%+v", r)
	}
}
