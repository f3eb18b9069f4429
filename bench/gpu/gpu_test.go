package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// files writes what a run leaves, and gives the folder.
func files(t *testing.T, steps, bench, peers string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"steps": steps, "bench": bench, "peers": peers, "queries": ""} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// verdicts runs the command and gives what it wrote and printed.
func verdicts(t *testing.T, dir string) (results, map[string]verdict, string) {
	t.Helper()
	var out strings.Builder
	if err := run(dir, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "gpu-check.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r results
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	by := map[string]verdict{}
	for _, v := range r.Targets {
		name, _, _ := strings.Cut(v.Target, ": t")
		by[name] = v
	}
	return r, by, out.String()
}

// measured is a line of an engine.
func measured(suite, op, engine, model string, seconds float64, more string) string {
	return fmt.Sprintf(`{"suite":%q,"op":%q,"engine":%q,"device":"cuda:0","model":%q,"driver":"CUDA 12.9","median_s":%g%s}`+"\n", suite, op, engine, model, seconds, more)
}

const passed = `{"step":"conformance-cuda","status":"passed","seconds":12,"why":""}` + "\n" +
	`{"step":"peer-torch","status":"missing","seconds":0,"why":"no module named torch"}` + "\n"

func sample(model string) (bench, peers string) {
	for op, share := range map[string]float64{"sum": 0.796, "cumsum": 0.79, "filter_10": 1} {
		bench += measured("columnar", op, "volley", model, 1, fmt.Sprintf(`,"gb_s":100,"share_of_limit":%g,"ok":true`, share))
	}
	bench += measured("columnar", "filter_50", "volley", model, 1, `,"gb_s":100,"share_of_limit":0.9,"ok":false`)
	bench += `{"suite":"columnar","answer":[["a","b"]]}` + "\n"
	bench += measured("gemm", "gemm_f32_4096", "volley", model, 2, `,"ok":true`) + measured("gemm", "gemm_f32_4096", "cublas", model, 1.5, `,"ok":true`)
	bench += measured("transfer", "h2d_pinned", "volley", model, 1, `,"gb_s":50,"ok":true`)
	bench += measured("transfer", "d2h_pinned", "volley", model, 1, `,"gb_s":57,"share_of_limit":0.905,"ok":true`)
	for turn, s := range []float64{9, 2, 3} {
		more := fmt.Sprintf(`,"turn":%d`, turn)
		peers += measured("columnar", "sort_32", "volley", model, s, more) + measured("columnar", "sort_32", "cupy", model, 2, more)
		peers += measured("columnar", "groupby_100", "volley", model, s, more) + measured("columnar", "groupby_100", "cupy", model, 9, more) +
			measured("columnar", "groupby_100", "torch", model, 6, more)
	}
	return bench, peers
}

func TestJudge(t *testing.T) {
	bench, peers := sample("Test Card")
	r, by, out := verdicts(t, files(t, passed, bench, peers))
	if r.Model != "Test Card" || r.Driver != "CUDA 12.9" || !r.Judged || len(r.Steps) != 2 || len(r.Peers) != 15 {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		target, verdict string
		value           float64
	}{
		{"sum: share of copy", "reached", 0.796}, {"cumsum: share of copy", "not reached", 0.79}, {"filter_10: share of copy", "reached", 1},
		{"filter_50: share of copy", "not measured", 0}, {"minmax: share of copy", "not measured", 0},
		{"sort_32: speed against CUB through CuPy", "not reached", 2.0 / 3}, {"argsort_32: speed against CUB through CuPy", "not measured", 0},
		{"groupby_100: speed against the better of CuPy and PyTorch", "reached", 2},
		{"gemm_f32_4096: our kernel against cuBLAS", "reached", 0.75}, {"gemm_f32_4096", "not measured", 0},
		{"h2d_pinned: share of the link", "not measured", 0}, {"d2h_pinned: share of the link", "reached", 0.905},
	} {
		v, ok := by[c.target]
		if !ok || v.Verdict != c.verdict || (v.Value != nil) != (c.value != 0) || v.Value != nil && (*v.Value < c.value-1e-9 || *v.Value > c.value+1e-9) {
			t.Errorf("%s: %+v (%v)", c.target, v, ok)
		}
	}
	for _, want := range []string{"Targets on Test Card (CUDA 12.9)", "no module named torch", "the answer is wrong", "the limit is not known", "no gemm_f32_4096 by cublas"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestEmulated judges nothing where figures mean nothing.
func TestEmulated(t *testing.T) {
	bench, peers := sample("emulated CUDA device")
	r, _, out := verdicts(t, files(t, passed, bench, peers))
	for _, v := range r.Targets {
		if v.Verdict != "not judged" && v.Verdict != "not measured" {
			t.Errorf("%+v", v)
		}
	}
	if r.Judged || !strings.Contains(out, "no target is judged") {
		t.Error(out)
	}
}

// TestNothing is a run of which nothing came: everything is said to be missing.
func TestNothing(t *testing.T) {
	r, _, _ := verdicts(t, files(t, passed, "", ""))
	if len(r.Targets) != 15 {
		t.Errorf("%d targets", len(r.Targets))
	}
	for _, v := range r.Targets {
		if v.Verdict != "not measured" || v.From == "" {
			t.Errorf("%+v", v)
		}
	}
	if err := run(t.TempDir(), new(strings.Builder)); err == nil {
		t.Error("a folder without files")
	}
	if err := run(files(t, "{", "", ""), new(strings.Builder)); err == nil || !strings.Contains(err.Error(), "steps.jsonl") {
		t.Error(err)
	}
}

// TestQueries puts a query on the device beside the one on the CPU, and says what of the two there is.
func TestQueries(t *testing.T) {
	line := func(suite, op, device, more string, seconds float64) string {
		return fmt.Sprintf(`{"suite":%q,"op":%q,"engine":"volley","device":%q,"min_s":%g%s}`+"\n", suite, op, device, seconds, more)
	}
	dir := files(t, passed, "", "")
	text := line("flights", "fit", "cpu", "", 4) + line("flights", "transfer", "cuda:0", "", 1) + line("flights", "fit", "cuda:0", `,"ok":true`, 2) +
		`{"suite":"flights","op":"fit","engine":"reference","device":"cpu","min_s":9}` + "\n" + `{"suite":"tpch","answer":{}}` + "\n" +
		line("tpch", "q1", "cpu", `,"ok":true`, 3) + line("tpch", "q2", "cpu", `,"ok":true`, 3) + line("tpch", "q1", "cuda:0", `,"ok":false`, 1) +
		line("tpch", "q1", "cpu", `,"ok":true,"way":"files"`, 5) + line("tpch", "q1", "cuda:0", `,"ok":true,"way":"files"`, 10)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "queries.jsonl"), []byte(text), 0o666))
	r, _, out := verdicts(t, dir)
	require.Len(t, r.Queries, 9)
	require.Equal(t, [][]string{
		{"flights fit", "4.00 s", "2.00 s", "2.00", "right"},
		{"flights transfer", "", "1.00 s", "", "not checked"},
		{"tpch q1", "3.00 s", "1.00 s", "3.00", "wrong"},
		{"tpch q2", "3.00 s", "", "", "not run"},
		{"tpch q1 from files", "5.00 s", "10.0 s", "0.50", "right"},
	}, beside(r.Queries).Rows)
	require.Contains(t, out, "Whole queries")
	require.NoError(t, os.Remove(filepath.Join(dir, "queries.jsonl")))
	require.ErrorContains(t, run(dir, new(strings.Builder)), "queries.jsonl")
}
