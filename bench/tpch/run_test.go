package tpch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// TestMain makes the test's program a peer where it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && filepath.Base(os.Args[1]) == "worker.py" {
		if err := stub(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == "ours" {
		b, err := volley.Open("cpu")
		if err == nil {
			err = errors.Join(Serve(context.Background(), b, os.Args[2], os.Stdin, os.Stdout), b.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stub answers as a peer: duckdb what the small tables' answers are; polars something else to q1, nothing
// to q6, and its process ends at q14.
func stub(name string) error {
	say := func(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
	if err := say(map[string]string{"version": "stub"}); err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		answer := map[string]any{}
		switch {
		case c.Do == "measure" && name != "volley" && c.Query == "q6":
			answer["error"] = "no such query"
		case c.Do == "measure":
			answer = map[string]any{"input_rss_bytes": 5 << 20, "peak_rss_bytes": map[string]int{"volley": 6 << 20, "duckdb": 9 << 20}[name]}
		case name == "polars" && c.Query == "q6":
			answer["error"] = "no such query"
		case name == "polars" && c.Query == "q14":
			return fmt.Errorf("out of memory")
		case c.Do == "answer":
			text, err := os.ReadFile(filepath.Join(small, "answers", c.Query+".csv"))
			if err != nil {
				return err
			}
			if name == "polars" && c.Query == "q1" {
				text = []byte(strings.Replace(string(text), "A,F,", "B,F,", 1))
			}
			if err := os.WriteFile(c.Path, text, 0o666); err != nil {
				return err
			}
			answer["seconds"] = []float64{1}
		case c.Do == "run":
			answer = map[string]any{"seconds": []float64{0.5, 0.25}, "cpu": 1.5, "wall": 0.75}
		}
		if err := say(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// kept is a sink that keeps all.
type kept struct {
	records []report.Record
	answer  report.Answer
}

func (k *kept) Record(r report.Record) error {
	k.records = append(k.records, r)
	return nil
}

func (k *kept) Answer(a report.Answer) error {
	k.answer = a
	return nil
}

// falling is a machine that gives half in some of its readings.
type falling struct{ reads int }

func (f *falling) Read(context.Context) (report.Reading, error) {
	f.reads++
	if f.reads == 2 {
		return report.Reading{FMAs: 1, ReadGBs: 1, CopyGBs: 1}, nil
	}
	return report.Reading{FMAs: 2, ReadGBs: 2, CopyGBs: 2}, nil
}

func optionsOf(t *testing.T) Options {
	return Options{Backend: testBackend(t), Folder: small, Scale: 0.01, Queries: Names(), Rounds: 2, Threads: runtime.GOMAXPROCS(0), gauge: &falling{}}
}

// Ours alone is held against the answers of the folder.
func TestOursAlone(t *testing.T) {
	for _, files := range []bool{false, true} {
		o := optionsOf(t)
		o.Files = files
		var k kept
		require.NoError(t, Run(t.Context(), o, &k, progress.Nothing()))
		require.Len(t, k.records, 22)
		for _, r := range k.records {
			require.True(t, r.OK != nil && *r.OK, r.Op)
			require.Positive(t, *r.MinS)
		}
		require.Len(t, k.answer.Grid.Rows, 22)
		require.Equal(t, 2, k.answer.Value.(map[string]any)["queries"].([]Line)[0].Retaken)
	}
}

// A run on one device is held against that on another where the folder has no answers.
func TestDevicesAreHeldAgainstEachOther(t *testing.T) {
	folder := t.TempDir()
	tables, err := filepath.Glob(filepath.Join(small, "*.parquet"))
	require.NoError(t, err)
	require.Len(t, tables, 8)
	for _, path := range tables {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(path)), text, 0o666))
	}
	o := optionsOf(t)
	o.Folder, o.Queries, o.Seen = folder, []string{"q4", "q6"}, map[string]*Answer{}
	var first, second, third kept
	require.NoError(t, Run(t.Context(), o, &first, progress.Nothing()))
	require.Nil(t, first.records[0].OK)
	require.NoError(t, Run(t.Context(), o, &second, progress.Nothing()))
	require.True(t, *second.records[0].OK && *second.records[1].OK)
	o.Seen["q6"].Rows[0][0] = "1"
	require.NoError(t, Run(t.Context(), o, &third, progress.Nothing()))
	require.True(t, *third.records[0].OK)
	require.False(t, *third.records[1].OK)
	require.Contains(t, third.answer.Grid.Note, "q6, volley: a wrong answer")
}

// Peers take turns; what one fails at, answers wrong, or dies of is said, and the rest is measured.
func TestPeersTakeTurns(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	o := optionsOf(t)
	o.Python, o.Peers, o.Queries = []string{program}, Peers(), []string{"q1", "q3", "q6", "q14", "q19"}
	var k kept
	err = Run(t.Context(), o, &k, progress.Nothing())
	var part *report.Incomplete
	require.ErrorAs(t, err, &part)
	require.ErrorContains(t, err, "q6, polars")
	require.ErrorContains(t, err, "q14, polars")
	lines := k.answer.Value.(map[string]any)["queries"].([]Line)
	require.Equal(t, "duckdb", lines[0].Best, "a wrong answer wins nothing")
	require.Equal(t, 0.25, lines[1].MinS["polars"])
	require.NotContains(t, lines[2].MinS, "polars")
	require.InDelta(t, 0.25/lines[1].MinS[oursName], lines[1].Ratio, 1e-12)
	for _, r := range k.records {
		require.Equal(t, r.Op != "q1" || r.Engine != "polars", *r.OK, "%s %s", r.Op, r.Engine)
	}
	for _, text := range []string{"q1, polars: a wrong answer: row 0, column l_returnflag", "q6, polars: tpch: polars: answer: no such query", "duckdb over ours, geometric mean of 5 queries"} {
		require.Contains(t, k.answer.Grid.Note, text)
	}
	o.Peers = []string{"nobody"}
	require.ErrorContains(t, Run(t.Context(), o, &k, progress.Nothing()), `no peer "nobody"`)
	o.Peers, o.Queries = nil, []string{"q23"}
	require.ErrorContains(t, Run(t.Context(), o, &k, progress.Nothing()), `no query "q23"`)
	o.Folder = t.TempDir()
	require.ErrorContains(t, Run(t.Context(), o, &k, progress.Nothing()), ".parquet")
}

// What queries need is measured in processes of their own; who fails is named, and the rest is measured.
func TestNeeds(t *testing.T) {
	if report.ResetPeakRSS() != nil {
		require.ErrorIs(t, Needs(t.Context(), optionsOf(t), nil, &kept{}, progress.Nothing()), report.ErrNotKnown)
		return
	}
	program, err := os.Executable()
	require.NoError(t, err)
	o, self := optionsOf(t), []string{program, "ours"}
	o.Python, o.Peers, o.Queries = []string{program}, Peers(), []string{"q1", "q6"}
	var k kept
	err = Needs(t.Context(), o, self, &k, progress.Nothing())
	var part *report.Incomplete
	require.ErrorAs(t, err, &part)
	require.ErrorContains(t, err, "q6, duckdb: tpch: duckdb: measure: no such query; q6, polars")
	lines := k.answer.Value.(map[string]any)["memory"].([]NeedLine)
	require.Len(t, lines, 2)
	require.Equal(t, Need{5 << 20, 9 << 20}, lines[0].Engines["duckdb"])
	require.Positive(t, lines[0].Engines[oursName].Input)
	require.Positive(t, lines[0].Engines[oursName].Growth())
	require.InDelta(t, float64(lines[0].Engines[oursName].Growth())/(4<<20), lines[0].Ratio, 1e-12)
	require.Zero(t, lines[1].Ratio)
	require.Len(t, k.records, 4)
	require.Equal(t, "4", k.answer.Grid.Rows[0][2])

	o.Queries = []string{"q23"}
	require.ErrorContains(t, Needs(t.Context(), o, self, &k, progress.Nothing()), `no query "q23"`)
	o.Rounds = 0
	require.ErrorContains(t, Needs(t.Context(), o, self, &k, progress.Nothing()), "0 rounds")
	require.ErrorContains(t, Serve(t.Context(), nil, "nobody", nil, nil), `no engine "nobody"`)
}

func TestCanceledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Run(ctx, optionsOf(t), &kept{}, progress.Nothing()), context.Canceled)
}

// Data is made once, whole or not at all.
func TestDataIsMadeOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // where the cache folder is that of the environment, and programs may be scripts
	}
	cache, bin := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PATH", "/usr/bin:/bin")
	python := filepath.Join(bin, "python")
	_, err := Generate(t.Context(), 0.5, python, progress.Nothing())
	require.ErrorContains(t, err, "pip install tpchgen-cli")
	script := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, generator), []byte("#!/bin/sh\n"+text), 0o777))
	}
	script("echo no room >&2; touch $5/half; exit 3")
	_, err = Generate(t.Context(), 0.5, python, progress.Nothing())
	require.ErrorContains(t, err, "no room")
	left, err := os.ReadDir(filepath.Join(cache, "volley", "tpch"))
	require.NoError(t, err)
	require.Empty(t, left)
	script(`echo "$@" > $5/said`)
	folder, err := Generate(t.Context(), 0.5, python, progress.Nothing())
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cache, "volley", "tpch", "0.5"), folder)
	said, err := os.ReadFile(filepath.Join(folder, "said"))
	require.NoError(t, err)
	require.Contains(t, string(said), "parquet -s 0.5 --output-dir "+folder)
	script("exit 1")
	again, err := Generate(t.Context(), 0.5, python, progress.Nothing())
	require.NoError(t, err)
	require.Equal(t, folder, again)
}
