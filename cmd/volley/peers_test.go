package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func TestBenchPeers(t *testing.T) {
	python, err := os.Executable() // any program that is there
	if err != nil {
		t.Fatal(err)
	}
	var told, needs []peerOptions
	f := &fakes{}
	d := f.deps()
	d.columnar.peers = &peerSuite{names: []string{"duckdb", "polars"}, ops: []string{"join", "topk"},
		run: func(_ context.Context, o peerOptions, to report.Sink, p progress.Progress) error {
			told = append(told, o)
			return f.suite("columnar", o.Ops, o.benchOptions, o.Rows, to, p)
		}}
	out := filepath.Join(t.TempDir(), "out")
	r := call(t, context.Background(), d, "bench", "columnar", "--peers", "--python", python, "--against", "polars", "--rows", "1e4", "--ops", "topk", "--out", out)
	if r.status != 0 || len(told) != 1 || len(f.columnar) != 0 {
		t.Fatalf("%+v, told %+v", r, told)
	}
	o := told[0]
	if o.Python != python || !slices.Equal(o.Peers, []string{"polars"}) || o.Rows != 10_000 || !slices.Equal(o.Ops, []string{"topk"}) || o.Runs != 5 {
		t.Errorf("told %+v", o)
	}
	for _, name := range []string{"columnar.jsonl", "columnar.html", "columnar-time.png"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	call(t, context.Background(), d, "bench", "columnar", "--peers", "--python", python)
	if o := told[1]; !slices.Equal(o.Ops, []string{"join", "topk"}) || !slices.Equal(o.Peers, []string{"duckdb", "polars"}) {
		t.Errorf("told %+v", o)
	}
	d.columnar.peers.memory = func(_ context.Context, o peerOptions, to report.Sink, p progress.Progress) error {
		needs = append(needs, o)
		return f.suite("columnar", o.Ops, o.benchOptions, o.Rows, to, p)
	}
	d.columnar.peers.serve = func(_ context.Context, engine string, threads int, _ io.Reader, out io.Writer) error {
		_, err := fmt.Fprintf(out, "%s on %d", engine, threads)
		return err
	}
	call(t, context.Background(), d, "bench", "columnar", "--peers", "--memory", "--python", python, "--ops", "join")
	if len(needs) != 1 || len(told) != 2 || !slices.Equal(needs[0].Ops, []string{"join"}) {
		t.Errorf("needs of %+v, told %+v", needs, told)
	}
	told = nil
	r = call(t, context.Background(), d, "bench", "columnar", "--peers", "--python", python, "--rows", "1e3,2e3", "--ops", "topk,join,topk")
	if r.status != 0 || len(told) != 2 || told[0].Rows != 1000 || told[1].Rows != 2000 || !slices.Equal(told[1].Ops, []string{"topk", "join"}) {
		t.Errorf("%+v, told %+v", r, told)
	}
	needs = nil
	r = call(t, context.Background(), d, "bench", "columnar", "--peers", "--memory", "--python", python, "--rows", "1e3,2e3", "--ops", "topk")
	if r.status != 0 || len(needs) != 2 || needs[1].Rows != 2000 {
		t.Errorf("%+v, needs of %+v", r, needs)
	}
	if r := call(t, context.Background(), d, "bench", "columnar", "serve", "volley", "2"); r.status != 0 || r.stdout != "volley on 2" {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{
		"--memory":                         "--peers goes with it",
		"--memory --rows 1e3,1e4":          "--peers goes with it",
		"--against polars":                 "--against: of a race",
		"--python " + python:               "--python: of a race",
		"--rows 3e9":                       "at most 2147483647",
		"--rows 1e3,3e9":                   "at most 2147483647",
		"--rows 3e9 --peers":               "at most 2147483647",
		"--ops topk":                       "it is raced with --peers",
		"--peers --python /no/such/python": "bash scripts/peers.sh",
		"--peers --device cuda:0 --python " + python:         "peers run on the CPU",
		"--peers --against excel --python " + python:         `unknown or repeated library "excel"`,
		"--peers --against polars,polars --python " + python: `unknown or repeated library "polars"`,
		"--peers --ops filter --python " + python:            `unknown operation "filter", known are join, topk`,
		"--ops join": `unknown operation "join", known are filter, sort; it is raced with --peers`,
	} {
		r := call(t, context.Background(), d, append([]string{"bench", "columnar"}, strings.Fields(args)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
}

func TestBenchGrowth(t *testing.T) {
	f := &fakes{}
	d := f.deps()
	var told []columnarOptions
	var over [][]int64
	d.columnar.peers = &peerSuite{names: []string{"duckdb"}, ops: []string{"join"}}
	d.columnar.growth = &growthSuite{ops: []string{"group", "join", "sort"}, usual: []string{"group", "join"},
		run: func(_ context.Context, o columnarOptions, sizes []int64, to report.Sink, p progress.Progress) error {
			told, over = append(told, o), append(over, sizes)
			return f.suite("columnar", o.Ops, o.benchOptions, o.Rows, to, p)
		}}
	call(t, context.Background(), d, "bench", "columnar", "--rows", "1e3,2_000,4e3")
	call(t, context.Background(), d, "bench", "columnar", "--rows", "1e3,1e4", "--ops", "sort", "--device", "cpu")
	if len(told) != 2 || len(f.columnar) != 0 || !slices.Equal(over[0], []int64{1000, 2000, 4000}) || !slices.Equal(told[0].Ops, []string{"group", "join"}) ||
		!slices.Equal(told[1].Ops, []string{"sort"}) {
		t.Errorf("told %+v over %v", told, over)
	}
	for args, want := range map[string]string{
		"--rows 1e3,1e4 --device cuda:0": "several sizes are run on the CPU",
		"--rows 1e3,-4":                  "at least 1",
		"--rows 1e3,":                    "not a whole number",
		"--rows 1e3,1e4 --ops filter":    `unknown operation "filter", known are group, join, sort`,
	} {
		r := call(t, context.Background(), d, append([]string{"bench", "columnar"}, strings.Fields(args)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
}

func TestBenchGEMMPeers(t *testing.T) {
	python, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var told []gemmPeerOptions
	f := &fakes{}
	d := f.deps()
	d.gemmPeers = &gemmPeerSuite{names: []string{"mkl", "gonum"}, run: func(_ context.Context, o gemmPeerOptions, to report.Sink, p progress.Progress) error {
		told = append(told, o)
		return f.suite("gemm", []string{"gemm_f32"}, o.benchOptions, o.Rows, to, p)
	}}
	r := call(t, context.Background(), d, "bench", "gemm", "--peers", "--python", python, "--rows", "1e6", "--threads", "1")
	if r.status != 0 || len(told) != 1 || len(f.gemm) != 0 || told[0].Rows != 1_000_000 || told[0].Threads != 1 || len(told[0].Peers) != 2 || told[0].Python != python {
		t.Errorf("%+v, told %+v", r, told)
	}
	call(t, context.Background(), d, "bench", "gemm", "--peers", "--python", python)
	if len(told) != 2 || told[1].Rows != 4096*4096 {
		t.Errorf("told %+v", told)
	}
	if r = call(t, context.Background(), d, "bench", "gemm", "--against", "mkl"); r.status != 2 || !strings.Contains(r.stderr, "--peers goes with it") {
		t.Errorf("%+v", r)
	}
	r = call(t, context.Background(), d, "bench", "gemm", "--peers", "--python", python, "--against", "duckdb")
	if r.status != 2 || !strings.Contains(r.stderr, `unknown or repeated library "duckdb"`) {
		t.Errorf("%+v", r)
	}
}

// A race that lacks a peer whose process ended writes its files, runs the next size
// and tells by its status.
func TestBenchPeersIncomplete(t *testing.T) {
	python, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := &fakes{}
	d := f.deps()
	var sizes []int64
	d.columnar.peers = &peerSuite{names: []string{"duckdb"}, ops: []string{"join"}, run: func(_ context.Context, o peerOptions, to report.Sink, p progress.Progress) error {
		sizes = append(sizes, o.Rows)
		return errors.Join(f.suite("columnar", o.Ops, o.benchOptions, o.Rows, to, p), &report.Incomplete{Text: "a process ended"})
	}}
	out := filepath.Join(t.TempDir(), "out")
	r := call(t, context.Background(), d, "bench", "columnar", "--peers", "--python", python, "--rows", "1e3,2e3", "--out", out)
	if r.status != 1 || !strings.Contains(r.stderr, "a process ended") || !slices.Equal(sizes, []int64{1000, 2000}) {
		t.Errorf("%+v at %v", r, sizes)
	}
	if _, err := os.Stat(filepath.Join(out, "columnar.jsonl")); err != nil {
		t.Error(err)
	}
}
