package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Call says what a check is about.
type Call struct {
	Case  Case             // the main argument
	Types []arrow.DataType // of the main arguments, where there is more than Case's
	Note  string           // operation and options, for the text of a failure
	Also  string           // another kernel, by the field of kernels.Set, that the call runs where the set has it
	Tol   Tolerance        // for floats
	// Text are parts that the error must have where the call is to fail: the
	// row, the index, the advice. The kind of error is that of the reference.
	Text []string
}

// Check makes one call of the kernel at hand on the reference and on the
// backend under test, and compares: results, or the kind of error. It fails
// too when an argument was changed, when anything leaked, and when a large
// result differs in a bit under another number of threads.
func (s *Suite) Check(c Call, f func(*Env) (Result, error)) {
	s.Helper()
	if s.over() || s.extent == Least && s.enough(c) {
		return
	}
	what := fmt.Sprintf("%s(%s) %s seed=%d", s.kernel, c.Note, c.Case, s.seed)
	got, gotErr := s.tested.call(context.Background(), f)
	var want Result
	defer func() { // also when a failure ends the goroutine
		want.Release()
		got.Release()
	}()
	var wantErr error
	alone := gotErr == nil && s.workersAlone(c)
	if !alone {
		want, wantErr = s.reference.call(context.Background(), f)
	}
	switch {
	case alone:
		s.ran.add(s.kernel, c)
		s.repeat(what, c, got, f)
	case without(gotErr, wantErr):
	case wantErr != nil && gotErr != nil:
		s.sameError(what, c, gotErr, wantErr)
	case wantErr != nil:
		s.Errorf("%s: got a result, want the error %q", what, wantErr)
	case gotErr != nil:
		s.Errorf("%s: %v", what, gotErr)
	default:
		if len(c.Text) > 0 {
			s.Errorf("%s: got a result, want an error with %q", what, c.Text)
		}
		if err := compare(got, want, c.Tol); err != nil {
			s.Errorf("%s: %v", what, err)
		}
		s.ran.add(s.kernel, c)
		s.repeat(what, c, got, f)
	}
	s.untouched(what)
	s.unchanged(what)
	got.Release()
	want.Release()
	got, want = Result{}, Result{}
	s.noLeak(what, s.tested)
	s.noLeak(what, s.reference)
}

// workersAlone reports that a call is held against itself with another number of
// threads only: under the race detector, which asks whether workers meet, where it has
// several. Its answers are held against the reference's without it.
func (s *Suite) workersAlone(c Call) bool {
	return raceDetector && len(c.Text) == 0 && c.Case.Length >= s.Morsel() && !s.planted && s.tested.onHost()
}

// enough reports that a check is one of the many that Least leaves out: of a
// type it makes the first two and each 16th, of filters the first and each 64th
// of all, of kernels whose calls are of many work-items the first of some types and
// each 64th of all, of sorts, where a pass is of thousands, those of fewer types still.
func (s *Suite) enough(c Call) bool {
	s.checks++
	key := fmt.Sprint(c.Case.Type)
	s.checked[key]++
	n, types := s.checked[key], len(s.checked)
	switch s.kernel {
	case "SortIndices", "TopK":
		return n > 1 || types%6 != 1
	case "Filter":
		return n > 1 && s.checks%64 != 0
	case "Partition", "Group", "Aggregate", "GroupBy", "Unique", "JoinBuild", "GEMM", "GEMV", "Transpose":
		return s.checks%64 != 0 && (n > 1 || types > 3 && types%4 != 0)
	}
	return n > 2 && n%16 != 0
}

// Refuses makes one call on the backend under test alone, which must fail with
// an error of a kind and the parts of a text in c: for what the reference would
// be too slow or too large for.
func (s *Suite) Refuses(c Call, kind error, f func(*Env) (Result, error)) {
	s.Helper()
	if s.over() {
		return
	}
	what := fmt.Sprintf("%s(%s) %s seed=%d", s.kernel, c.Note, c.Case, s.seed)
	r, err := s.tested.call(context.Background(), f)
	r.Release()
	if err == nil {
		s.Errorf("%s: got a result, want an error of the kind %q", what, kind)
	} else if !without(err, nil) {
		s.sameError(what, c, err, kind)
	}
	s.untouched(what)
	s.unchanged(what)
	s.noLeak(what, s.tested)
}

func compare(got, want Result, tol Tolerance) error {
	if len(got.Columns) != len(want.Columns) {
		return fmt.Errorf("got %d columns, want %d", len(got.Columns), len(want.Columns))
	}
	for i := range want.Columns {
		if err := Equal(got.Columns[i], want.Columns[i], tol); err != nil {
			return fmt.Errorf("column %d of the result: %w", i, err)
		}
	}
	if !reflect.DeepEqual(got.Values, want.Values) {
		return fmt.Errorf("got values %v, want %v", got.Values, want.Values)
	}
	return nil
}

var kinds = []error{
	device.ErrMismatch, device.ErrUnsupported, device.ErrOutOfMemory, device.ErrValue,
	device.ErrCanceled, device.ErrClosed, device.ErrLost, device.ErrUnavailable,
}

func (s *Suite) sameError(what string, c Call, got, want error) {
	s.Helper()
	for _, err := range []error{got, want} {
		if strings.Contains(err.Error(), "internal error") {
			s.Errorf("%s: %v", what, err)
			return
		}
	}
	for _, k := range kinds {
		if errors.Is(got, k) != errors.Is(want, k) {
			s.Errorf("%s: got the error %q, want one of the kind of %q", what, got, want)
			return
		}
	}
	for _, text := range c.Text {
		if !strings.Contains(got.Error(), text) {
			s.Errorf("%s: the error %q does not say %q", what, got, text)
		}
	}
	var de *device.Error
	if !errors.As(got, &de) || de.Call == "" {
		s.Errorf("%s: the error %q does not name its call", what, got)
	}
}

var threadsMu sync.Mutex

// Threads are the numbers of threads that every kernel's large calls are made
// with on the host: alone, as many as this machine's cores at least, and more
// than it has, and than divide the rows evenly.
var Threads = []int{1, 2, 7}

// repeat makes a large call again, on the host with other numbers of threads:
// results must agree to the bit.
func (s *Suite) repeat(what string, c Call, first Result, f func(*Env) (Result, error)) {
	s.Helper()
	if c.Case.Length < s.Morsel() || s.planted {
		return
	}
	if !s.tested.onHost() {
		r, err := s.tested.call(context.Background(), f)
		if err == nil {
			err = compare(r, first, Tolerance{})
		}
		r.Release()
		if err != nil {
			s.Errorf("%s: made again: %v", what, err)
		}
		return
	}
	threadsMu.Lock() // the number of threads is the process's
	defer threadsMu.Unlock()
	*s.repeated = true
	for _, threads := range Threads {
		old := runtime.GOMAXPROCS(threads)
		if threads == old || raceDetector && threads == 1 {
			continue // as the first call was made, or no other worker to meet
		}
		r, err := s.tested.call(context.Background(), f)
		runtime.GOMAXPROCS(old)
		if err == nil {
			err = compare(r, first, Tolerance{})
		}
		r.Release()
		if err != nil {
			s.Errorf("%s: with %d threads, not %d: %v", what, threads, old, err)
		}
	}
}

// noLeak reports memory that is still held.
func (s *Suite) noLeak(what string, b *side) {
	s.Helper()
	if err := b.memory.settle(); err != nil {
		s.Errorf("%s: %v", what, err)
	}
	if n := b.memory.live.Swap(0); n != 0 {
		s.Errorf("%s: the %s backend leaked %d blocks", what, b.backend.Set.Name, n)
	}
	if n := memory.OverReleases() - s.overReleases; n != 0 {
		s.overReleases += n
		s.Errorf("%s: %d releases without a reference", what, n)
	}
}
