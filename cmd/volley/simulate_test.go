package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	benchsim "github.com/volley-go/volley/bench/simulate"
	"github.com/volley-go/volley/collective/algorithm"
)

func TestSimulate(t *testing.T) {
	d := (&fakes{}).deps()
	dir := filepath.Join(t.TempDir(), "out")
	r := call(t, context.Background(), d, "simulate", "--op", "allreduce,alltoall", "--ranks", "4,16", "--sizes", "64,64K", "--json", "--out", dir)
	if r.status != 0 {
		t.Fatalf("%+v", r)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if all := len(algorithm.For(algorithm.AllReduce)) + len(algorithm.For(algorithm.AllToAll)); all < 9 || len(lines) != all*4 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		var row benchsim.Row
		if err := json.Unmarshal([]byte(line), &row); err != nil || row.Seconds <= 0 || row.Checked == 0 || row.Messages == 0 || row.PerRank <= 0 {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, name := range []string{"simulate.jsonl", "simulate.html", "simulate-allreduce-time-ranks-65536.png", "simulate-alltoall-bytes-size-16.png"} {
		if s, err := os.Stat(filepath.Join(dir, name)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	r = call(t, context.Background(), d, "simulate", "--ranks", "32", "--sizes", "1M", "--algorithms", "ring", "--topology", "dragonfly", "--fail", "7:3", "--straggler", "3:2:1ms")
	if r.status != 0 || !strings.Contains(r.stdout, "rank 7 lost") || !strings.Contains(r.stdout, "What the survivors learn") || !strings.Contains(r.stdout, "dragonfly") {
		t.Errorf("%+v", r)
	}
	for args, want := range map[string]string{
		"--op sum":                     `no operation "sum"`,
		"--algorithms rings":           `no algorithm "rings"`,
		"--topology torus":             `no network "torus"`,
		"--ranks 0":                    `"0" is not a number of ranks`,
		"--sizes x":                    `"x" is not a number of bytes`,
		"--chunk x":                    `--chunk: "x"`,
		"--fail 3":                     `"3" is not rank:round`,
		"--straggler 3:2":              `"3:2" is not rank:slow:late`,
		"--memory 0":                   "--memory is 0",
		"--calibrate --transports mpi": `unknown or repeated name "mpi"`,
		"--calibrate --rounds 0":       "--rounds 0: there must be one at least",
	} {
		if r := call(t, context.Background(), d, append([]string{"simulate"}, strings.Fields(args)...)...); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d: %s", args, r.status, r.stderr)
		}
	}
	for args, want := range map[string]string{
		"--figures no-such-file":                               "no-such-file",
		"--ranks 2 --fail 5:0 --sizes 8":                       "rank 5 of 2 cannot fail",
		"--ranks 512 --algorithms direct --memory 1 --sizes 8": "",
	} {
		r := call(t, context.Background(), d, append([]string{"simulate"}, strings.Fields(args)...)...)
		if want == "" && (r.status != 0 || !strings.Contains(r.stdout, "too big")) || want != "" && (r.status != 1 || !strings.Contains(r.stderr, want)) {
			t.Errorf("%s: status %d: %s%s", args, r.status, r.stdout, r.stderr)
		}
	}
}

// --recordings measures nothing: it takes the middle of recordings, which must be complete and of
// the transports that are asked for.
func TestSimulateRecordings(t *testing.T) {
	d, dir := (&fakes{}).deps(), t.TempDir()
	recorded, both := filepath.Join("..", "..", "collective", "tune", "testdata", "recorded.json"), filepath.Join(dir, "both.json")
	r := call(t, context.Background(), d, "simulate", "--calibrate", "--transports", "tcp", "--recordings", recorded+","+recorded, "--save", both)
	if r.status != 0 || !strings.Contains(r.stdout, " of 480 within 30 %") || !strings.Contains(r.stdout, "over the least") || !strings.HasSuffix(r.stdout, "16 of 16 within 30 %.\n") || !strings.Contains(r.stdout, "in another state") {
		t.Fatalf("%+v", r)
	}
	one, err := readMachines(recorded)
	if err != nil {
		t.Fatal(err)
	}
	two, err := readMachines(both)
	if err != nil || len(two) != 1 || two[0].Figures.Transport != "tcp" {
		t.Fatalf("%+v, %v", two, err)
	}
	for _, m := range one {
		if m.Figures.Transport == "tcp" && (two[0].Times[0].Seconds != m.Times[0].Seconds || len(two[0].Times[0].Rounds) != 2*len(m.Times[0].Rounds)) {
			t.Errorf("%+v of twice %+v", two[0].Times[0], m.Times[0])
		}
	}
	part := filepath.Join(dir, "part.json")
	if err := os.WriteFile(part, []byte(`[{"figures":{"transport":"tcp"}}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{part: "figures are missing", both: "no figures of shm", filepath.Join(dir, "none.json"): "none.json"} {
		r := call(t, context.Background(), d, "simulate", "--calibrate", "--transports", "tcp,shm", "--recordings", file)
		if r.status == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v", file, r)
		}
	}
}
