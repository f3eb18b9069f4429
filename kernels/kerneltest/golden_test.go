package kerneltest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
)

// listener is a testing.TB that keeps what is reported to it.
type listener struct {
	testing.TB
	said []string
}

func (l *listener) Helper() {}
func (l *listener) Errorf(format string, args ...any) {
	l.said = append(l.said, fmt.Sprintf(format, args...))
}

func TestGolden(t *testing.T) {
	set := &kernels.Set{Name: "for the golden list", Filter: reference.New().Filter}
	set.Filter.Types = kernels.TypesOf(arrow.INT8, arrow.STRING)
	path := filepath.Join(t.TempDir(), "support.txt")
	check := func(text string, want ...string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := &listener{TB: t}
		Golden(l, set, path)
		if len(l.said) != len(want) {
			t.Fatalf("said %q, want %d failures", l.said, len(want))
		}
		for i, w := range want {
			if !strings.Contains(l.said[i], w) {
				t.Errorf("said %q, want %q", l.said[i], w)
			}
		}
	}
	ran := pairsOf(set)
	ran.add("Filter", Call{Case: Case{Type: arrow.PrimitiveTypes.Int8}})
	check("Filter: int8 string\n", "STRING is supported, but was never run")
	ran.add("Filter", Call{Types: []arrow.DataType{arrow.BinaryTypes.String}})
	check("Filter: int8 string\n")
	check("Filter: int8\n", "supports")
	check("Filter: int8 string\nTake: int8\n", "supports")
}

func TestCountdown(t *testing.T) {
	c := &countdown{Context: context.Background(), left: 2, done: make(chan struct{})}
	for i := range 4 {
		if err := c.Err(); (err != nil) != (i >= 2) || c.ended() != (i >= 2) {
			t.Errorf("look %d: %v, ended %v", i, err, c.ended())
		}
	}
	<-c.Done()
}

// Faults sees a call that swallows a failing allocation, one that leaks on it,
// and one that runs on under an ended context.
func TestFaultsAreSeen(t *testing.T) {
	b := referenceBackend(t)
	for _, c := range []struct {
		name, says string
		call       func(*Env) (Result, error)
	}{
		{"swallows", "but the call did not", func(e *Env) (Result, error) {
			if b, err := e.Device.Memory().Allocate(8); err == nil {
				e.Device.Memory().Free(b)
			}
			return Result{}, nil
		}},
		{"leaks", "leaked 1 blocks", func(e *Env) (Result, error) {
			first, err := e.Device.Memory().Allocate(8)
			if err != nil {
				return Result{}, err
			}
			second, err := e.Device.Memory().Allocate(8)
			if err != nil {
				return Result{}, err // and the first is lost
			}
			e.Device.Memory().Free(first)
			e.Device.Memory().Free(second)
			return Result{}, nil
		}},
		{"runs on", "ran on", func(e *Env) (Result, error) {
			_ = e.Ctx.Err()
			return Result{}, nil
		}},
		{"another error", "no ErrCanceled", func(e *Env) (Result, error) { return Result{}, e.Ctx.Err() }},
	} {
		said := record(func(r Reporter) {
			s := newSuite(r, b, b, false, Brief)
			s.begin("Filter", 1)
			s.Faults(Call{Case: Case{Type: arrow.PrimitiveTypes.Int8, Length: 1}}, c.call)
		})
		if !strings.Contains(said, c.says) {
			t.Errorf("%s: %q, want %q", c.name, said, c.says)
		}
	}
}
