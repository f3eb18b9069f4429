package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func TestBenchCollective(t *testing.T) {
	var told []collectiveOptions
	var ranks []string
	f := &fakes{}
	d := f.deps()
	d.collective = &collectiveSuite{
		ops: []string{"reduce", "gather"}, devices: []string{"shm", "tcp"}, launched: []string{"mpi"}, peers: []string{"gloo", "mpich"},
		run: func(_ context.Context, o collectiveOptions, to report.Sink, p progress.Progress) error {
			told = append(told, o)
			return f.suite("collective", o.Ops, o.benchOptions, 1, to, p)
		},
		rank: func(_ context.Context, what string) error { ranks = append(ranks, what); return nil },
	}
	r := call(t, context.Background(), d, "bench", "collective", "--ops", "gather", "--sizes", "8,64k,1M", "--ranks", "3", "--transports", "tcp", "--peers",
		"--against", "gloo", "--python", "py", "--mpich", "there", "--runs", "2")
	if r.status != 0 || len(told) != 1 {
		t.Fatalf("%+v, told %+v", r, told)
	}
	o := told[0]
	if !slices.Equal(o.Sizes, []int64{8, 64 << 10, 1 << 20}) || !slices.Equal(o.Ranks, []int{3}) || !slices.Equal(o.Ops, []string{"gather"}) ||
		!slices.Equal(o.Transports, []string{"tcp"}) || !slices.Equal(o.Peers, []string{"gloo"}) || o.Python != "py" || o.MPICH != "there" || o.Runs != 2 {
		t.Errorf("told %+v", o)
	}
	call(t, context.Background(), d, "bench", "collective")
	if o := told[1]; o.Peers != nil || !slices.Equal(o.Transports, []string{"shm", "tcp"}) || len(o.Ops) != 2 || len(o.Sizes) != 11 || !slices.Equal(o.Ranks, []int{2, 4}) {
		t.Errorf("told %+v", o)
	}
	call(t, context.Background(), d, "bench", "collective", "--transports", "mpi,shm")
	if o := told[2]; !slices.Equal(o.Transports, []string{"mpi", "shm"}) {
		t.Errorf("told %+v", o)
	}
	if r := call(t, context.Background(), d, "bench", "collective", "--rank", "shm,x,0,2,/s"); r.status != 0 || !slices.Equal(ranks, []string{"shm,x,0,2,/s"}) {
		t.Errorf("%+v, ranks %v", r, ranks)
	}
	for args, want := range map[string]string{
		"--ops reduce,sum":         `--ops: unknown or repeated name "sum", known are reduce, gather`,
		"--transports tcp,tcp":     `--transports: unknown or repeated name "tcp"`,
		"--peers --against duckdb": `--against: unknown or repeated name "duckdb"`,
		"--sizes 8,x":              `--sizes: "x" is not a number of bytes`,
		"--sizes 2G":               `--sizes: "2G" is not a number of bytes`,
		"--sizes 0":                `--sizes: "0" is not a number of bytes`,
		"--ranks 0":                `--ranks: "0" is not a number of ranks`,
		"--ranks 2,2":              `--ranks: "2" is not a number of ranks`,
		"--runs 0":                 "--runs is 0",
	} {
		r := call(t, context.Background(), d, append([]string{"bench", "collective"}, strings.Fields(args)...)...)
		if r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
}
