package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct{ args, message string }{
		{"", "needs a command, one of: bench convert devices launch simulate timeline version"},
		{"benhc", `unknown command "benhc" for "volley"`},
		{"--colour", "unknown flag: --colour"},
		{"version extra", "extra"},
		{"devices --json=perhaps", "invalid argument"},
		{"bench", "volley bench needs a command, one of: chart columnar flights"},
		{"bench flihgts", `unknown command "flihgts" for "volley bench"`},
		{"bench flights --rows 5", "unknown flag: --rows"},
		{"bench flights --runs 0", "--runs is 0"},
		{"bench flights --threads -1", "--threads is -1"},
		{"bench flights --device cpu,,x", "empty name"},
		{"bench flights more", "more"},
		{"bench columnar --rows 1.5", "not a whole number"},
		{"bench columnar --rows many", "not a whole number"},
		{"bench columnar --rows 0", "at least 1"},
		{"bench columnar --rows 1e300", "not a whole number"},
		{"bench columnar --ops filter,jion", `unknown operation "jion", known are filter, sort`},
		{"convert a.csv", "accepts 2 arg(s), received 1"},
		{"convert a.csv b.xyz", "b.xyz: the ending tells no format, name it with --to"},
		{"convert a.csv b --to arrow", `unknown format "arrow", known are parquet, csv`},
	} {
		f := &fakes{}
		r := call(t, context.Background(), f.deps(), strings.Fields(c.args)...)
		if r.status != statusUsage || !strings.Contains(r.stderr, c.message) || !strings.Contains(r.stderr, "--help' for usage") {
			t.Errorf("volley %s: status %d, %q; want %q", c.args, r.status, r.stderr, c.message)
		}
		if r.stdout != "" || len(f.flights)+len(f.columnar)+len(f.convert) > 0 {
			t.Errorf("volley %s: work was begun, or standard output has %q", c.args, r.stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	for args, want := range map[string]string{"--help": "130 interrupted", "bench flights --help": "--airports file", "help bench": "--device names"} {
		r := call(t, context.Background(), (&fakes{}).deps(), strings.Fields(args)...)
		if r.status != statusOK || !strings.Contains(r.stdout, want) || r.stderr != "" {
			t.Errorf("volley %s: status %d\n%s%s", args, r.status, r.stdout, r.stderr)
		}
	}
}

// A command that is not wired does not exist.
func TestOnlyWiredCommands(t *testing.T) {
	d := (&fakes{}).deps()
	d.devices, d.flights, d.convert = nil, nil, nil
	for args, want := range map[string]int{"devices": statusUsage, "convert a.csv b.csv": statusUsage, "bench flights": statusUsage, "bench columnar --json": statusOK, "version": statusOK} {
		if r := call(t, context.Background(), d, strings.Fields(args)...); r.status != want {
			t.Errorf("volley %s: status %d, want %d: %s", args, r.status, want, r.stderr)
		}
	}
}

func TestWiredVersion(t *testing.T) {
	var out, err bytes.Buffer
	if status := run(context.Background(), []string{"version"}, &bytes.Buffer{}, &out, &err); status != 0 || !strings.HasPrefix(out.String(), "volley ") || err.Len() > 0 {
		t.Errorf("status %d, %q, %q", status, out.String(), err.String())
	}
}

func TestVersion(t *testing.T) {
	d := (&fakes{}).deps()
	if r := call(t, context.Background(), d, "version"); r.stdout != "volley v1.2.3, go1.25, testos, amd64\n" {
		t.Errorf("%q", r.stdout)
	}
	if r := call(t, context.Background(), d, "version", "--json"); !strings.Contains(r.stdout, `"version":"v1.2.3"}`+"\n") {
		t.Errorf("%q", r.stdout)
	}
}

func TestDevices(t *testing.T) {
	d := (&fakes{}).deps()
	want := `device  description  threads    memory  state
------  -----------  -------  --------  ----------------------
cpu     Test CPU           2  8.00 GiB  ready
cuda:0                                  unavailable: no driver
`
	if r := call(t, context.Background(), d, "devices"); r.status != 0 || r.stdout != want {
		t.Errorf("status %d\n%s", r.status, r.stdout)
	}
	want = `{"device":"cpu","description":"Test CPU","threads":2,"memory_bytes":8589934592}` + "\n" + `{"device":"cuda:0","unavailable":"no driver"}` + "\n"
	if r := call(t, context.Background(), d, "devices", "--json"); r.status != 0 || r.stdout != want {
		t.Errorf("status %d\n%s", r.status, r.stdout)
	}
	if r := call(t, context.Background(), (&fakes{fail: errBroken}).deps(), "devices"); r.status != statusFailure || r.stderr != "volley: the disk is on fire\n" {
		t.Errorf("a failure gave status %d, %q", r.status, r.stderr)
	}
}

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "a.CSV"), filepath.Join(dir, "b.dat")
	if err := os.WriteFile(in, []byte("x\n1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	f := &fakes{}
	r := call(t, context.Background(), f.deps(), "convert", in, out, "--to", "parquet", "--lenient")
	if r.status != 0 || r.stdout != "" || r.stderr != "wrote 1,234 rows to "+out+", skipped 5\n" {
		t.Errorf("%+v", r)
	}
	if want := (convertOptions{In: in, Out: out, From: "csv", To: "parquet", Lenient: true}); f.convert[0] != want {
		t.Errorf("told %+v", f.convert[0])
	}
	if r := call(t, context.Background(), f.deps(), "convert", in, out, "--to", "csv", "--json"); r.stdout != `{"rows":1234,"skipped":5}`+"\n" {
		t.Errorf("%+v", r)
	}
	if r := call(t, context.Background(), f.deps(), "convert", in, in); r.status != statusUsage || !strings.Contains(r.stderr, "same file") {
		t.Errorf("onto itself: %+v", r)
	}
	if r := call(t, context.Background(), f.deps(), "convert", filepath.Join(dir, "none.csv"), out, "--to", "csv"); r.status != statusFailure || !strings.Contains(r.stderr, "none.csv") {
		t.Errorf("a missing file: %+v", r)
	}
}
