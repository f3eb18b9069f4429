package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	benchsim "github.com/volley-go/volley/bench/simulate"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/tune"
)

// recordedMachines are what a machine measured.
func recordedMachines(t *testing.T) (all []*tune.Machine) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "collective", "tune", "testdata", "recorded.json"))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all
}

// "bench collective --tune" prints the table that it saves, and a Comm goes by that.
func TestBenchCollectiveTune(t *testing.T) {
	machines := recordedMachines(t)
	machines[0].Figures.Transport = "inproc"
	var asked []string
	var fail error
	d := (&fakes{}).deps()
	d.collective = &collectiveSuite{
		ops: []string{"reduce"}, devices: []string{"inproc", "tcp"}, launched: []string{"mpi"}, peers: []string{"gloo"},
		tune: func(_ context.Context, transports []string, _ progress.Progress) ([]*tune.Machine, error) {
			asked = append(asked, transports...)
			return machines, fail
		},
	}
	file := filepath.Join(t.TempDir(), "table.json")
	r := call(t, context.Background(), d, "bench", "collective", "--tune", file, "--transports", "inproc")
	if r.status != 0 || !slices.Equal(asked, []string{"inproc"}) {
		t.Fatalf("%+v, asked for %v", r, asked)
	}
	table, err := collective.LoadTuning(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(table.Source, "volley bench collective --tune, ") {
		t.Errorf("the source is %q", table.Source)
	}
	choices := table.Transports["inproc"].Choices
	if len(choices) == 0 {
		t.Fatalf("%+v has no choices", table)
	}
	lines := strings.Split(r.stdout, "\n")
	for _, c := range choices {
		if !slices.ContainsFunc(lines, func(l string) bool {
			return strings.Contains(l, "inproc") && strings.Contains(l, c.Op+" ") && strings.HasSuffix(strings.TrimSpace(l), c.Algorithm)
		}) {
			t.Errorf("%+v is not printed:\n%s", c, r.stdout)
		}
	}
	if !strings.Contains(r.stdout, benchsim.PerSecond(table.Transports["inproc"].Model.Beta)) || !strings.Contains(r.stderr, collective.TuningVariable+"="+file) {
		t.Errorf("%+v", r)
	}

	t.Setenv(collective.TuningVariable, file)
	ends := inproc.New(2)
	comm, err := collective.New(ends[0], collective.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer comm.Close()
	if why := comm.Explain(algorithm.AllReduce, collective.Float32, 16); !strings.Contains(why, table.Source) {
		t.Errorf("the Comm explains: %s", why)
	}

	r = call(t, context.Background(), d, "bench", "collective", "--tune", file, "--json")
	if printed, err := collective.ReadTuning(strings.NewReader(r.stdout)); r.status != 0 || err != nil || len(printed.Transports["inproc"].Choices) != len(choices) {
		t.Errorf("%+v: %v", r, err)
	}
	for args, want := range map[string]string{
		"--transports mpi":            "ranks over mpi cannot be measured so, known are inproc, tcp",
		"--ops reduce":                "--ops does not go with it",
		"--peers":                     "--peers does not go with it",
		"--runs 3":                    "--runs does not go with it",
		"--transports shm,inproc,tcp": `--transports: unknown or repeated name "shm"`,
	} {
		if r := call(t, context.Background(), d, append([]string{"bench", "collective", "--tune", file}, strings.Fields(args)...)...); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
	asked = nil
	if r := call(t, context.Background(), d, "bench", "collective", "--tune", filepath.Join(file, "x", "y")); r.status != 1 || asked != nil {
		t.Errorf("a folder that is not there: %+v, asked for %v", r, asked)
	}
	fail = errors.New("a rank is gone")
	if r := call(t, context.Background(), d, "bench", "collective", "--tune", filepath.Join(t.TempDir(), "t")); r.status != 1 || !strings.Contains(r.stderr, fail.Error()) {
		t.Errorf("%+v", r)
	}
}
