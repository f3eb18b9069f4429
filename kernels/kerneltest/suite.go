package kerneltest

import (
	"bytes"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Suite is what a kernel's checks work with: the backend under test, the
// reference, drawn numbers, made columns and the reporter of failures. A Suite
// belongs to one goroutine.
type Suite struct {
	Reporter
	Rand *rand.Rand // seeded by the suite's seed and the kernel's name

	kernel     string
	entryTypes kernels.Types
	seed       uint64
	extent     Extent
	faulted    map[string]bool // what Tiny had under faults
	checked    map[string]int  // checks of a type, counted for Least
	checks     int             // of all types
	repeated   *bool           // some call was made with all numbers of threads
	shape      bool            // SumShape
	morsel     int64           // MorselOf; 0 for that of the extent
	planted    bool            // listening for a planted error: the first round is enough
	unfit      func() bool     // reports that the error cannot be planted in this kernel
	tested     *side
	reference  *side
	inputs     []*tally // drawn from for every buffer of an argument
	owned      []input
	ran        *pairs

	overReleases int64 // in the process, of those that were reported
	failures     int
}

// maxFailures ends a kernel's checks: what follows is of the same cause.
const maxFailures = 10

// Errorf reports a failure, and with the tenth ends the kernel's checks.
func (s *Suite) Errorf(format string, args ...any) {
	s.Helper()
	if s.failures++; s.failures >= maxFailures && !s.planted {
		s.Fatalf(format+" (and no further checks)", args...)
	}
	s.Reporter.Errorf(format, args...)
}

// input is an argument with the bytes that it had when it was made.
type input struct {
	column *memory.Column
	before [][]byte
}

func (s *Suite) begin(kernel string, seed uint64) {
	h := fnv.New64a()
	h.Write([]byte(kernel))
	s.kernel, s.seed = kernel, seed
	s.Rand = rand.New(rand.NewPCG(seed, h.Sum64()))
	entry := reflect.ValueOf(s.tested.backend.Set).Elem().FieldByName(kernel)
	s.entryTypes = entry.FieldByName("Types").Interface().(kernels.Types)
	s.tested.types = s.entryTypes
	entry = reflect.ValueOf(s.reference.backend.Set).Elem().FieldByName(kernel)
	s.reference.types = entry.FieldByName("Types").Interface().(kernels.Types)
}

// has tells whether the backend under test has a kernel that others stand in for.
func (s *Suite) has(kernel string) bool { return has(s.tested.backend.Set, kernel) }

// Run runs f as a subtest of its own name.
func (s *Suite) Run(name string, f func(*Suite)) {
	s.Helper()
	t, real := s.Reporter.(*testing.T)
	if !real {
		f(s)
		return
	}
	t.Run(name, func(t *testing.T) {
		sub := *s
		sub.Reporter, sub.owned = t, nil
		defer sub.release(0)
		f(&sub)
	})
}

func (s *Suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("making arguments: %v (seed %d)", err, s.seed)
	}
}

// Own makes the suite hold a column until the case at hand is over, check after
// every call that its bytes are what they were, and release it. It returns c.
func (s *Suite) Own(c *memory.Column) *memory.Column {
	in := input{column: c}
	eachBuffer(c, func(b []byte) { in.before = append(in.before, bytes.Clone(b)) })
	for i, old := range s.owned { // made anew: its bytes were written since
		if old.column == c {
			s.owned[i].before = in.before
		}
	}
	s.owned = append(s.owned, in)
	return c
}

func eachBuffer(c *memory.Column, f func([]byte)) {
	for i := range 3 {
		if b := c.Buffer(i); b != nil {
			f(b.Bytes())
		}
	}
	for i := range c.NumChildren() {
		eachBuffer(c.Child(i), f)
	}
	if c.Dictionary() != nil {
		eachBuffer(c.Dictionary(), f)
	}
}

// untouched reports arguments that a call changed.
func (s *Suite) untouched(what string) {
	s.Helper()
	for _, in := range s.owned {
		k := 0
		eachBuffer(in.column, func(b []byte) {
			if !bytes.Equal(b, in.before[k]) {
				s.Errorf("%s: the call changed buffer %d of an argument of type %s", what, k, in.column.Type())
			}
			k++
		})
	}
}

// unchanged reports arguments on the device that a call changed.
func (s *Suite) unchanged(what string) {
	s.Helper()
	if err := s.tested.changed(); err != nil {
		s.Errorf("%s: %v", what, err)
	}
}

// over reports whether a planted error was seen, or cannot be: then nothing is
// left to do.
func (s *Suite) over() bool { return s.planted && (s.Failed() || s.unfit()) }

// scope releases what f's case made.
func (s *Suite) scope(f func() bool) bool {
	if s.over() {
		return false
	}
	mark := len(s.owned)
	defer s.release(mark)
	return f()
}

func (s *Suite) release(mark int) {
	for _, in := range s.owned[mark:] {
		in.column.Release()
	}
	s.owned = s.owned[:mark]
	if err := s.tested.forget(s.owned); err != nil {
		s.Errorf("%s: arguments on the device: %v (seed %d)", s.kernel, err, s.seed)
	}
}

// Result is what a call gave: columns, compared by Equal, and other values,
// compared by reflect.DeepEqual.
type Result struct {
	Columns []*memory.Column
	Values  []any
}

// One is the result of a kernel that gives one column.
func One(c *memory.Column, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{Columns: []*memory.Column{c}}, nil
}

// Release drops the result's references.
func (r Result) Release() {
	for _, c := range r.Columns {
		c.Release()
	}
}
