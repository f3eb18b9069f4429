package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/timeline"
)

func TestTimeline(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for rank := range 2 {
		path := filepath.Join(dir, string(rune('0'+rank))+".json")
		r, err := timeline.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := r.Track("world", "tcp", rank, 2)
		tr.Op(tr.Now(), "Barrier", 1, "")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	out := filepath.Join(dir, "merged.json")
	got := call(t, context.Background(), deps{}, append([]string{"timeline", "-o", out}, files...)...)
	if got.status != statusOK || got.stdout != "rank 0: clock moved by 0.0 µs, within 0.0 µs\nrank 1: clock moved by 0.0 µs, within 0.0 µs\n" {
		t.Errorf("%+v", got)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var events []map[string]any
	if err := json.Unmarshal(text, &events); err != nil || len(events) != 6 {
		t.Errorf("%d events, %v", len(events), err)
	}
	for want, args := range map[string][]string{
		"needs -o": {files[0]}, "no such file": {"-o", out, filepath.Join(dir, "none")}, "of rank 0": {"-o", out, files[0], files[0]},
	} {
		if got := call(t, context.Background(), deps{}, append([]string{"timeline"}, args...)...); got.status == statusOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v, want %s", args, got, want)
		}
	}
}
