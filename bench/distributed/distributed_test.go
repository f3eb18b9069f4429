package distributed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/gang"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// The test's own program is a rank where a gang has a place for it, and a peer where it is started as one.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(gang.Variable) != "":
		err = Rank(context.Background())
	case len(os.Args) == 4 && filepath.Base(os.Args[1]) == "worker.py":
		err = stub(os.Args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// stub answers as a peer, by our own operators; modin is not installed. Dask leaves out a row of the join and gives the sort backwards, ray fails at the join, and its process ends at the
// sort.
func stub(name string) error {
	say := func(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
	b, err := cpu.New(host.New())
	if err != nil {
		return err
	}
	if name == "modin" {
		return say(map[string]string{"error": "ModuleNotFoundError: No module named 'modin'"})
	}
	if err := say(map[string]string{"version": "stub"}); err != nil {
		return err
	}
	var sides [2]*table.Table
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return err
		}
		answer := map[string]any{}
		switch {
		case c.Do == "load":
			for i, side := range []string{"left", "right"} {
				if sides[i], err = storage.ScanParquet(filepath.Join(c.Folder, side+"-*.parquet")).On(b).Collect(context.Background()); err != nil {
					return err
				}
			}
		case name == "ray" && c.Op == "join":
			answer["error"] = "no such operation"
		case name == "ray" && c.Op == "sort":
			return errors.New("out of memory")
		case c.Do == "answer":
			q := operationNamed(c.Op).local(sides[0], sides[1])
			if name == "dask" && c.Op == "join" {
				q = q.Slice(1, 1<<40)
			}
			if name == "dask" && c.Op == "sort" {
				q = sides[0].Query().Sort(table.Desc("k"), table.Desc("a"))
			}
			t, err := q.Collect(context.Background())
			if err != nil {
				return err
			}
			if err := storage.WriteParquet(context.Background(), t, c.Path, storage.ParquetOptions{}); err != nil {
				return err
			}
		default:
			answer["seconds"] = []float64{100, 50}
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
	answers []report.Answer
}

func (k *kept) Record(r report.Record) error {
	k.records = append(k.records, r)
	return nil
}

func (k *kept) Answer(a report.Answer) error {
	k.answers = append(k.answers, a)
	return nil
}

// falling is a machine that gives half in one of its readings.
type falling struct{ reads int }

func (f *falling) Read(context.Context) (report.Reading, error) {
	f.reads++
	if f.reads == 2 {
		return report.Reading{FMAs: 1, ReadGBs: 1, CopyGBs: 1}, nil
	}
	return report.Reading{FMAs: 2, ReadGBs: 2, CopyGBs: 2}, nil
}

func testBackend(t *testing.T) *kernels.Backend {
	b, err := cpu.New(host.New())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func optionsOf(t *testing.T) Options {
	self, err := os.Executable()
	require.NoError(t, err)
	return Options{Backend: testBackend(t), Self: []string{self}, Rows: 20_000, Ops: Names(), Ranks: []int{2, 3}, Python: []string{self}, Rounds: 2, Threads: 2, gauge: &falling{}}
}

// Ranks find what the local operators find; memory and bandwidth are measured; every operation is a line.
func TestOursAlone(t *testing.T) {
	var k kept
	require.NoError(t, Run(t.Context(), optionsOf(t), &k, progress.Nothing()))
	var seen []string
	for _, r := range k.records {
		seen = append(seen, r.Op+" "+r.Engine)
		require.Positive(t, *r.MinS)
		require.Equal(t, r.Engine != oursName && r.Op != "shuffle", r.OK != nil, "%s %s", r.Op, r.Engine)
		if r.OK != nil {
			require.True(t, *r.OK, "%s %s", r.Op, r.Engine)
		}
		require.Equal(t, map[string]int{"volley": 0, "volley-2": 2, "volley-3": 3}[r.Engine], r.Ranks)
	}
	require.Len(t, seen, 3*(len(operations)-1)+2)
	require.Len(t, k.answers, 3)
	lines := k.answers[0].Value.(map[string]any)["operations"].([]*Line)
	require.Len(t, lines, len(operations))
	require.Equal(t, 2, lines[0].Retaken)
	for _, l := range lines {
		m := l.Memory["volley-2"]
		require.Positive(t, m.Input, l.Op)
		require.Positive(t, m.Output, l.Op)
		require.Zero(t, l.Memory[oursName].Sent, l.Op)
		if l.Op != "shuffle" {
			require.Equal(t, l.Memory[oursName].Output, m.Output, l.Op)
		}
	}
	band := lines[len(lines)-1].Bandwidth
	require.Equal(t, []string{"volley-2", "volley-3"}, []string{band[0].Engine, band[1].Engine})
	for _, b := range band {
		require.Positive(t, b.ShuffleGBs)
		require.Positive(t, b.AllToAllGBs)
	}
}

// Peers take turns; what one fails at, answers wrong, or dies of is said, and the rest is measured.
func TestPeersTakeTurns(t *testing.T) {
	o := optionsOf(t)
	o.Peers, o.Ops = []string{"duckdb", "modin", "dask", "ray"}, []string{"join", "sort", "group"}
	var k kept
	err := Run(t.Context(), o, &k, progress.Nothing())
	var part *report.Incomplete
	require.ErrorAs(t, err, &part)
	require.Equal(t, "distributed: missing: [modin join, ray sort, ray group, ray]", part.Text)
	lines := k.answers[0].Value.(map[string]any)["operations"].([]*Line)
	require.Equal(t, 50.0, lines[0].MinS["duckdb"])
	for _, name := range []string{"dask", "ray"} {
		require.NotContains(t, lines[0].MinS, name)
		require.NotContains(t, lines[1].MinS, name)
	}
	require.Equal(t, 50.0, lines[2].MinS["dask"])
	require.InDelta(t, 50/lines[2].MinS["volley-2"], lines[2].OfBest, 1e-9)
	require.Zero(t, lines[0].OfBest, "a wrong answer wins nothing")
	wrong := 0
	for _, r := range k.records {
		if r.Wrong() {
			wrong++
		}
	}
	require.Equal(t, 2, wrong)
	for _, text := range []string{"join, dask: a wrong answer: ", "sort, dask: a wrong answer: other rows, or in another order", "No module named 'modin'", "join, ray: distributed: ray: answer: no such operation", "out of memory"} {
		require.Contains(t, k.answers[0].Grid.Note, text)
	}
}

// The real DuckDB, where scripts/peers.sh or scripts/distributed_peers.sh has put it for this clone, finds what ours finds.
func TestDuckDB(t *testing.T) {
	o := optionsOf(t)
	o.Peers, o.Ranks, o.Ops = []string{"duckdb"}, []int{2}, slices.DeleteFunc(Names(), func(name string) bool { return operationNamed(name).alone })
	o.Rows = 5000
	for _, venv := range []string{"distributed", "peers"} {
		python := filepath.Join("..", "..", "out", "venv", venv, "bin", "python")
		if _, err := os.Stat(python); err != nil {
			continue
		}
		o.Python = []string{python}
		var k kept
		err := Run(t.Context(), o, &k, progress.Nothing())
		require.NotEmpty(t, k.answers, "%v", err)
		require.NoError(t, err, k.answers[0].Grid.Note)
		for _, r := range k.records {
			require.False(t, r.Wrong(), "%s %s", r.Op, r.Engine)
		}
		require.Len(t, k.records, 3*len(o.Ops))
		return
	}
	require.NotContains(t, strings.Split(os.Getenv("VOLLEY_REQUIRE"), ","), "duckdb", "no DuckDB: scripts/peers.sh installs it")
	o.Python = []string{filepath.Join(t.TempDir(), "none")}
	require.ErrorContains(t, Run(t.Context(), o, &kept{}, progress.Nothing()), "no such file")
}

// Another number of rows of a rank, another value and another order are not the same; another order of an operation without one is.
func TestDiffers(t *testing.T) {
	b := testBackend(t)
	made := func(name string, k ...int64) *table.Table {
		x, err := table.New(b, table.Column(name, k))
		require.NoError(t, err)
		t.Cleanup(x.Release)
		return x
	}
	want := made("k", 1, 2, 3)
	for _, c := range []struct {
		got     *table.Table
		ordered bool
		text    string
	}{
		{made("k", 1, 2, 3), true, ""}, {made("k", 3, 1, 2), false, ""}, {made("k", 3, 1, 2), true, "other rows, or in another order"},
		{made("k", 1, 2, 4), false, "other rows"}, {made("k", 1, 2), false, "2 rows in place of 3"}, {made("j", 1, 2, 3), false, "columns j int64 in place of k int64"},
	} {
		text, err := differs(t.Context(), want, c.got, c.ordered)
		require.NoError(t, err)
		require.Equal(t, c.text, text)
	}
}

// Sides are the same rows, however many ranks make them.
func TestSides(t *testing.T) {
	b := testBackend(t)
	for which := range sides {
		whole, err := side(b, which, 1000, 0, 1000)
		require.NoError(t, err)
		k, err := table.Values[int64](whole, "k")
		require.NoError(t, err)
		var parts []int64
		for r := range 3 {
			part, err := side(b, which, 1000, share(1000, r, 3), share(1000, r+1, 3))
			require.NoError(t, err)
			some, err := table.Values[int64](part, "k")
			require.NoError(t, err)
			parts = append(parts, some...)
			part.Release()
		}
		require.Equal(t, k, parts)
		require.Less(t, slices.Max(k), int64(1000))
		whole.Release()
	}
}

func TestRefusals(t *testing.T) {
	o := optionsOf(t)
	o.Peers = []string{"nobody"}
	require.ErrorContains(t, Run(t.Context(), o, &kept{}, progress.Nothing()), `no peer "nobody"`)
	o.Peers, o.Ops = nil, []string{"jion"}
	require.ErrorContains(t, Run(t.Context(), o, &kept{}, progress.Nothing()), `no operation "jion"`)
	o.Ops, o.Rows = Names(), 0
	require.ErrorContains(t, Run(t.Context(), o, &kept{}, progress.Nothing()), "0 rows")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Rows = 10
	require.ErrorIs(t, Run(ctx, o, &kept{}, progress.Nothing()), context.Canceled)
}
