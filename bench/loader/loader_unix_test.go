//go:build unix

package loader

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// stub is an interpreter whose engines answer what their names say.
const stub = `#!/bin/sh
engine=$2
if [ "$engine" = tfdata ]; then echo '{"error":"ImportError: no tensorflow"}'; exit; fi
echo '{"version":"1.0"}'
while read -r line; do
	case $line in
	*'"do":"make"'*'"data":"empty.csv"'*) echo '{"error":"ValueError: 0 rows"}' ;;
	*'"do":"make"'*) echo '{"rows":1000,"columns":4}' ;;
	*'"do":"load"'*'"op":"parquet'*) [ "$engine" = volley ] && echo '{}' || echo '{"lacks":"no files"}' ;;
	*'"do":"load"'*) echo '{}' ;;
	*'"do":"check"'*) [ "$engine" = torch-gather ] && echo '{"wrong":"row 3 came 2 times"}' || echo '{"wrong":""}' ;;
	*'"do":"epoch"'*)
		case $engine in
		torchdata) echo '{"error":"KeyError: 7"}' ;;
		pyarrow) echo "it breaks" >&2; exit 3 ;;
		volley) echo '{"seconds":0.5,"growth":1024}' ;;
		*) echo '{"seconds":5,"growth":0}' ;;
		esac ;;
	*) echo '{"seconds":0.01}' ;;
	esac
done
`

// kept is a sink that keeps what it gets.
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

func run(t *testing.T, data []string, engines ...string) (*kept, error) {
	t.Helper()
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte(stub), 0o777); err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	o := Options{Python: python, Engines: engines, Data: data, Rows: 1000, Columns: 4, Batch: 64, Rounds: 3, Threads: 2}
	return k, Run(context.Background(), o, k, progress.Nothing())
}

func TestRun(t *testing.T) {
	k, err := run(t, nil, "volley", "torch-loader-0", "torch-gather", "torchdata", "tfdata", "pyarrow")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]report.Record{}
	for _, r := range k.records {
		got[r.Op+" "+r.Engine] = r
	}
	if r := got["memory volley"]; r.Runs != 3 || *r.MinS != 0.5 || !*r.OK || *r.Rows != 1000 || *r.GrowthBytes != 1024 || r.Version != "1.0" {
		t.Errorf("ours: %+v", r)
	}
	if r := got["memory torch-loader-0"]; r.Runs != fewRounds || *r.MinS != 5 {
		t.Errorf("one that takes ten times as long: %+v", r)
	}
	if r := got["memory torch-gather"]; *r.OK {
		t.Error("an epoch with a row twice is right")
	}
	if r := got["memory limit"]; r.Runs != 3 || *r.MinS <= 0 {
		t.Errorf("the limit: %+v", r)
	}
	for _, name := range []string{"torchdata", "tfdata", "pyarrow"} {
		if _, ok := got["memory "+name]; ok {
			t.Errorf("%s has times", name)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d records of %v", len(got), got)
	}
	lines := k.answer.Value.(map[string]any)["loaders"].([]Line)
	if e := lines[0].Engines["torch-loader-0"]; len(lines) != 3 || e.Ratio != 10 || lines[0].Share <= 0 || lines[1].Engines["torchdata"].Missing != "no files" {
		t.Errorf("%+v", lines)
	}
	for _, want := range []string{
		"memory, torchdata: failed: epoch: KeyError: 7", "wrong: row 3 came 2 times", "parquet: not raced, since no files: torch-loader-0, torch-gather, torchdata.",
		"memory, tfdata: failed: loader: tfdata: start: ImportError: no tensorflow", "parquet, tfdata: failed: ",
		"memory, pyarrow: failed: loader: the process of pyarrow ended during epoch", "it breaks", "parquet, pyarrow: failed: ",
	} {
		if !strings.Contains(k.answer.Grid.Note, want) {
			t.Errorf("no %q in %q", want, k.answer.Grid.Note)
		}
	}
}

// TestSets: each set of data is raced at and told apart.
func TestSets(t *testing.T) {
	k, err := run(t, []string{Made, Flights, "x/taxi.parquet"}, "volley")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, r := range k.records {
		got[r.Op+" "+r.Engine] = true
	}
	lines := k.answer.Value.(map[string]any)["loaders"].([]Line)
	if len(got) != 3*5 || len(lines) != 3*3 || lines[3].Data != Flights || lines[8].Data != "x/taxi.parquet" {
		t.Errorf("%v, %+v", got, lines)
	}
	for _, want := range []string{"memory volley", "flights memory limit", "flights parquet volley", "taxi.parquet parquet-shuffled volley"} {
		if !got[want] {
			t.Errorf("no %q in %v", want, got)
		}
	}
}

func TestRunFails(t *testing.T) {
	for want, engines := range map[string][]string{
		"ImportError: no tensorflow": {"tfdata", "volley"},
		"it breaks":                  {"pyarrow", "volley"},
		`no engine "keras"`:          {"keras"},
		"no engines":                 nil,
	} {
		if _, err := run(t, nil, engines...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", engines, err)
		}
	}
	if _, err := run(t, []string{"empty.csv"}, "volley"); err == nil || !strings.Contains(err.Error(), "0 rows") {
		t.Errorf("data without rows: %v", err)
	}
	if err := Run(context.Background(), Options{Rows: 1 << 24, Columns: 1}, &kept{}, progress.Nothing()); err == nil {
		t.Error("rows that float32 does not tell apart are raced")
	}
}

func TestLimitStops(t *testing.T) {
	l, err := newLimit(10_000, 3, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var of limits
	if err := l.run(context.Background(), &of); err != nil || of.plain[0] <= 0 || of.ahead[0] <= 0 {
		t.Errorf("%v s, %v", of, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.run(ctx, &of); err == nil {
		t.Error("it went on")
	}
}
