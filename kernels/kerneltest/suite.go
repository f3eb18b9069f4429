package kerneltest

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/volley-go/volley/device"
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
	brief      bool // fewer cases: -short, the race detector, Planted
	planted    bool // listening for a planted error: the first round is enough
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

// side is one backend with its memory counted.
type side struct {
	backend *kernels.Backend
	memory  *tally
}

// input is an argument with the bytes that it had when it was made.
type input struct {
	column *memory.Column
	before [][]byte
}

func newSide(b *kernels.Backend, guarded bool) *side {
	d := newTestDevice(b.Device, guarded)
	return &side{&kernels.Backend{Device: d, Set: b.Set}, d.memory}
}

func (s *Suite) begin(kernel string, seed uint64) {
	h := fnv.New64a()
	h.Write([]byte(kernel))
	s.kernel, s.seed = kernel, seed
	s.Rand = rand.New(rand.NewPCG(seed, h.Sum64()))
	entry := reflect.ValueOf(s.tested.backend.Set).Elem().FieldByName(kernel)
	s.entryTypes = entry.FieldByName("Types").Interface().(kernels.Types)
}

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

// Brief reports whether fewer cases are wanted: under -short and the race
// detector, and while planted errors are looked for.
func (s *Suite) Brief() bool { return s.brief }

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

// over reports whether a planted error was seen: then nothing is left to do.
func (s *Suite) over() bool { return s.planted && s.Failed() }

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
}

// Env is where a call runs: a backend and what to call it with.
type Env struct {
	*kernels.Backend
	Ctx    context.Context
	Stream device.Stream
	held   []*memory.Column
	err    error // of On
}

// On is a host column on the call's device, for the time of the call. Where it
// cannot be brought there it is nil, and the call is taken as failed.
func (e *Env) On(c *memory.Column) *memory.Column {
	if c == nil || e.Device.Place() == memory.Host {
		return c
	}
	moved, err := transfer(e.Stream, e.Device.Memory(), c)
	if err != nil {
		e.err = err
		return nil
	}
	e.held = append(e.held, moved)
	return moved
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
