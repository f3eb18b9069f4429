package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

func TestBenchDistributed(t *testing.T) {
	var told []distributedOptions
	ranks := 0
	f := &fakes{}
	d := f.deps()
	d.distributed = &distributedSuite{
		ops: []string{"join", "sort"}, peers: []string{"dask", "ray"},
		run: func(_ context.Context, o distributedOptions, to report.Sink, p progress.Progress) error {
			told = append(told, o)
			return f.suite("distributed", o.Ops, o.benchOptions, o.Rows, to, p)
		},
		rank: func(context.Context) error { ranks++; return nil },
	}
	r := call(t, t.Context(), d, "bench", "distributed", "--rows", "1e3", "--ops", "sort", "--ranks", "3", "--peers", "--against", "ray", "--python", "/bin/sh", "--runs", "2", "--threads", "1")
	require.Equal(t, statusOK, r.status, r.stderr)
	want := distributedOptions{benchOptions: told[0].benchOptions, Rows: 1000, Ops: []string{"sort"}, Peers: []string{"ray"}, Ranks: []int{3}, Python: "/bin/sh"}
	require.Equal(t, []distributedOptions{want}, told)
	require.Equal(t, []int{1, 2}, []int{told[0].Threads, told[0].Runs})
	require.Equal(t, statusOK, call(t, t.Context(), d, "bench", "distributed").status)
	require.Equal(t, distributedOptions{benchOptions: told[1].benchOptions, Rows: 5_000_000, Ops: d.distributed.ops, Ranks: []int{2, 4}, Python: distributedPython}, told[1])
	require.Equal(t, statusOK, call(t, t.Context(), d, "bench", "distributed", "--rank").status)
	require.Equal(t, 1, ranks)
	for _, c := range []struct{ args, want string }{
		{"--ops=jion", `--ops: unknown or repeated name "jion"`},
		{"--ops=sort,sort", `unknown or repeated name "sort"`},
		{"--ranks=0", `--ranks: "0"`},
		{"--ranks=2,2", `--ranks: "2"`},
		{"--against=ray", "--peers goes with it"},
		{"--python=/bin/sh", "--peers goes with it"},
		{"--device=cuda:0", "runs on the CPU"},
		{"--peers --python=/none", "scripts/distributed_peers.sh"},
		{"--peers --python=/bin/sh --against=nobody", `--against: unknown or repeated name "nobody"`},
		{"--rows=-5", "at least 1"},
	} {
		r := call(t, t.Context(), d, append([]string{"bench", "distributed"}, strings.Fields(c.args)...)...)
		require.Equal(t, statusUsage, r.status, c.args)
		require.Contains(t, r.stderr, c.want, c.args)
	}
	require.Len(t, told, 2)
}
