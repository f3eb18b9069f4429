package storage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

const (
	flights  = "../../testdata/flights/flights-1m.parquet"
	airports = "../../testdata/flights/airports.csv"
)

// TestOnRemoteDevice runs all tests on a device whose memory the host cannot
// address.
func TestOnRemoteDevice(t *testing.T) { backends.Again(t, "remote") }

// backend is the backend of the test run with its memory counted: the test
// fails when bytes are left, when something was released too often, and when
// goroutines stay.
func backend(t testing.TB) *kernels.Backend {
	return backendOn(t, func(a memory.Allocator) memory.Allocator { return a })
}

func backendOn(t testing.TB, from func(memory.Allocator) memory.Allocator) *kernels.Backend {
	t.Helper()
	var counted *memory.Counted
	over, routines := memory.OverReleases(), runtime.NumGoroutine()
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewCounted(from(a))
		return counted
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - over; n != 0 {
			t.Errorf("%d releases too many", n)
		}
		for wait := time.Millisecond; runtime.NumGoroutine() > routines; wait *= 2 {
			if wait > 2*time.Second {
				stacks := make([]byte, 1<<16)
				t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), routines, stacks[:runtime.Stack(stacks, true)])
				return
			}
			time.Sleep(wait)
		}
	})
	return b
}

// file writes a file into the test's folder.
func file(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read reads a whole file, by its extension, into a table that the test
// releases.
func read(t testing.TB, b *kernels.Backend, path string) *table.Table {
	t.Helper()
	s, err := storage.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read(context.Background(), b, s, storage.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantError checks that an error is of a kind and says all of the texts.
func wantError(t testing.TB, err, kind error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if kind != nil && !errors.Is(err, kind) {
		t.Errorf("the error is no %v: %v", kind, err)
	}
	for _, s := range texts {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
}

// repeated is the airports forty times over, in as many chunks.
func repeated(t testing.TB, b *kernels.Backend) *table.Table {
	t.Helper()
	once := read(t, b, airports)
	defer once.Release()
	var chunks []*table.Batch
	for range 40 {
		for _, c := range once.Chunks() {
			chunks = append(chunks, c.Retain())
		}
	}
	big, err := table.NewTable(b, once.Schema(), chunks)
	if err != nil {
		t.Fatal(err)
	}
	return big
}
