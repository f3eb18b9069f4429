//go:build unix

package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program answers by what the command says.
const program = `#!/bin/sh
if [ "$1" = none ]; then echo '{"error":"ImportError: none"}'; exit; fi
echo "{\"version\":\"$1 on $2\"}"
while read -r line; do
	case $line in
	*fail*) echo '{"error":"KeyError: 7"}' ;;
	*noise*) echo 'no JSON' ;;
	*die*) echo "it breaks" >&2; exit 3 ;;
	*) echo '{"seconds":0.5}' ;;
	esac
done
`

func TestWorker(t *testing.T) {
	path, ctx := filepath.Join(t.TempDir(), "engine"), context.Background()
	if err := os.WriteFile(path, []byte(program), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(ctx, "race", []string{path}, "none", 1); err == nil || !strings.Contains(err.Error(), "race: none: start: ImportError: none") {
		t.Errorf("an engine that is not there: %v", err)
	}
	w, err := Start(ctx, "race", []string{path}, "fast", 2)
	if err != nil {
		t.Fatal(err)
	}
	var a struct{ Seconds float64 }
	if err := w.Ask(ctx, "run", map[string]string{"do": "run"}, &a); err != nil || a.Seconds != 0.5 || w.Version != "fast on 2" {
		t.Errorf("%v, %v, %q", err, a.Seconds, w.Version)
	}
	var failed *Failure
	if err := w.Ask(ctx, "fail", "fail", &a); !errors.As(err, &failed) || failed.Text != "KeyError: 7" {
		t.Errorf("a failure: %v", err)
	}
	if err := w.Ask(ctx, "noise", "noise", &a); err == nil || !strings.Contains(err.Error(), "no line of JSON") {
		t.Errorf("noise: %v", err)
	}
	var died *Died
	if err := w.Ask(ctx, "die", "die", &a); !errors.As(err, &died) || died.State != "exit status 3" || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "it breaks") {
		t.Errorf("a process that ends: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	ended, end := context.WithCancel(ctx)
	if w, err = Start(ended, "race", []string{path}, "fast", 2); err != nil {
		t.Fatal(err)
	}
	end()
	if err := w.Ask(ended, "run", "run", &a); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
