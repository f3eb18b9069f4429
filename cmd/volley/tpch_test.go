package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTPCH(t *testing.T) {
	python, err := os.Executable()
	require.NoError(t, err)
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "bench", "tpch", "--runs", "3")
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, r.stdout, "Steps of tpch\n")
	require.Equal(t, []string{"q1", "q2"}, f.tpch[0].Queries)
	require.Equal(t, 1.0, f.tpch[0].Scale)
	require.Equal(t, 3, f.tpch[0].Runs)
	require.Empty(t, f.tpch[0].Peers)
	r = call(t, context.Background(), f.deps(), "bench", "tpch", "--scale", "0.01", "--queries", "q2", "--from", "files", "--data", "here", "--peers", "--python", python, "--against", "duckdb")
	require.Zero(t, r.status, r.stderr)
	o := f.tpch[1]
	require.Equal(t, []string{"q2"}, o.Queries)
	require.Equal(t, 0.01, o.Scale)
	require.Equal(t, "here", o.Data)
	require.True(t, o.Files)
	require.Equal(t, []string{"duckdb"}, o.Peers)
	require.Equal(t, python, o.Python)
}

func TestTPCHMemory(t *testing.T) {
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "bench", "tpch", "--memory", "--queries", "q2")
	require.Zero(t, r.status, r.stderr)
	require.Contains(t, r.stdout, "Steps of tpch memory\n")
	require.Equal(t, []string{"q2"}, f.needs[0].Queries)
	require.Empty(t, f.tpch)
	d := f.deps()
	d.tpch.serve = func(_ context.Context, engine string, threads int, _ io.Reader, out io.Writer) error {
		_, err := fmt.Fprintf(out, "%s on %d", engine, threads)
		return err
	}
	r = call(t, context.Background(), d, "bench", "tpch", "serve", "volley", "2")
	require.Zero(t, r.status, r.stderr)
	require.Equal(t, "volley on 2", r.stdout)
}

func TestTPCHFlags(t *testing.T) {
	python, err := os.Executable()
	require.NoError(t, err)
	for want, args := range map[string][]string{
		"a number above 0 is needed":        {"--scale", "0"},
		"--scale is NaN":                    {"--scale", "NaN"},
		"memory or files":                   {"--from", "nowhere"},
		"--queries has no query":            {"--queries", ""},
		`unknown or repeated query "q23"`:   {"--queries", "q1,q23"},
		`unknown or repeated query "q1"`:    {"--queries", "q1,q1"},
		"--against: of a race":              {"--against", "duckdb"},
		"--python: of a race":               {"--python", "no such interpreter"},
		"there is no such interpreter":      {"--peers", "--python", "no such interpreter"},
		`unknown or repeated library "pig"`: {"--peers", "--python", python, "--against", "pig"},
		"peers run on the CPU":              {"--peers", "--python", python, "--device", "cuda:0"},
		"memory is measured on the CPU":     {"--memory", "--device", "cuda:0"},
		"--runs is 0":                       {"--runs", "0"},
	} {
		f := &fakes{}
		r := call(t, context.Background(), f.deps(), append([]string{"bench", "tpch"}, args...)...)
		require.Equal(t, 2, r.status, want)
		require.Contains(t, r.stderr, want)
		require.Empty(t, f.tpch)
	}
}
