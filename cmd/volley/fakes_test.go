package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

var errBroken = errors.New("the disk is on fire")

// result is what a run of the command did.
type result struct {
	status         int
	stdout, stderr string
}

// call runs the command with the dependencies.
func call(t *testing.T, ctx context.Context, d deps, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	status := runWith(ctx, d, args, &bytes.Buffer{}, &out, &err)
	return result{status, out.String(), err.String()}
}

// fakes are dependencies that work, and remember what they were told.
type fakes struct {
	flights  []flightsOptions
	columnar []columnarOptions
	tpch     []tpchOptions
	needs    []tpchOptions // with --memory
	gemm     []gemmOptions
	transfer []transferOptions
	convert  []convertOptions
	wrong    bool  // a step gives a wrong answer
	fail     error // a suite fails after its first step
}

func (f *fakes) deps() deps {
	return deps{
		machine: func() report.Machine {
			return report.Machine{Threads: 2, GOMAXPROCS: 2, OS: "testos", Arch: "amd64", Go: "go1.25", Version: "v1.2.3"}
		},
		calibrate: func(_ context.Context, threads int) (report.Bandwidth, error) {
			return report.Bandwidth{ReadGBs: 10, CopyGBs: 8, Threads: threads, BufferBytes: 1 << 28}, nil
		},
		devices: func(context.Context) ([]deviceInfo, error) {
			return []deviceInfo{
				{Device: "cpu", Description: "Test CPU", Threads: 2, MemoryBytes: 8 << 30},
				{Device: "cuda:0", Unavailable: "no driver"},
			}, f.fail
		},
		flights: func(_ context.Context, o flightsOptions, to report.Sink, p progress.Progress) error {
			f.flights = append(f.flights, o)
			return f.suite("flights", []string{"query: read", "query: compute"}, o.benchOptions, 1_000_000, to, p)
		},
		columnar: &columnarSuite{
			ops: []string{"filter", "sort"},
			run: func(_ context.Context, o columnarOptions, to report.Sink, p progress.Progress) error {
				f.columnar = append(f.columnar, o)
				return f.suite("columnar", o.Ops, o.benchOptions, o.Rows, to, p)
			},
		},
		tpch: &tpchSuite{
			queries: []string{"q1", "q2"}, peers: []string{"duckdb", "polars"},
			run: func(_ context.Context, o tpchOptions, to report.Sink, p progress.Progress) error {
				f.tpch = append(f.tpch, o)
				return f.suite("tpch", o.Queries, o.benchOptions, 6_000_000, to, p)
			},
			memory: func(_ context.Context, o tpchOptions, to report.Sink, p progress.Progress) error {
				f.needs = append(f.needs, o)
				return f.suite("tpch memory", o.Queries, o.benchOptions, 6_000_000, to, p)
			},
		},
		gemm: func(_ context.Context, o gemmOptions, to report.Sink, p progress.Progress) error {
			f.gemm = append(f.gemm, o)
			return f.suite("gemm", []string{"gemm_f32"}, o.benchOptions, o.Rows, to, p)
		},
		transfer: func(_ context.Context, o transferOptions, to report.Sink, p progress.Progress) error {
			f.transfer = append(f.transfer, o)
			return f.suite("transfer", []string{"h2d"}, o.benchOptions, o.Rows, to, p)
		},
		convert: &converter{
			formats: []string{"parquet", "csv"},
			run: func(_ context.Context, o convertOptions, p progress.Progress) (convertResult, error) {
				f.convert = append(f.convert, o)
				return convertResult{Rows: 1234, Skipped: 5}, f.fail
			},
		},
	}
}

// suite measures nothing but goes the way of a suite.
func (f *fakes) suite(name string, ops []string, o benchOptions, rows int64, to report.Sink, p progress.Progress) error {
	for i, op := range ops {
		p.Start(op, int64(o.Runs))
		r := report.Record{Suite: name, Op: op, Engine: "volley", Device: "cpu", Rows: &rows, OK: report.Of(!f.wrong || i > 0)}
		r.SetTiming(report.Timing{Seconds: []float64{0.5}})
		r.SetBytes(1e9, o.Limit.ReadGBs)
		if err := to.Record(r); err != nil {
			return err
		}
		p.Add(int64(o.Runs))
		p.Done()
		if f.fail != nil {
			return f.fail
		}
	}
	g := report.Grid{Title: "By state", Header: []string{"state", "count"}, Left: []bool{true}}
	g.Add("WY", "133")
	return to.Answer(report.Answer{Suite: name, Value: map[string]int{"WY": 133}, Grid: &g})
}
