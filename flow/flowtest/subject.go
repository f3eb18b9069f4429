package flowtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Subject is an operator, a sink or a source, with whatever it needs, as a query over sources. Their columns are
// k, an int64 of few values, s, a text or a dictionary of texts, m, an int64 of some values, x, a
// float64, d, a decimal, b, a bool, and id, the row's number.
type Subject struct {
	Name   string
	Inputs int // sources
	// Run makes the query and runs it. It hands each batch to each, which takes it over, and stops where
	// that gives an error, which it returns.
	Run func(ctx context.Context, b *kernels.Backend, in []flow.Source, each func(*flow.Batch) error) error
}

// morselVariable sets the rows of a morsel of queries.
const morselVariable = "VOLLEY_MORSEL_ROWS"

var (
	errEnough = errors.New("the consumer has enough")
	errStep   = errors.New("a step fails")
)

// Run tests subjects.
func Run(t *testing.T, subjects ...Subject) {
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			k := newKit(t, s)
			t.Run("rows", k.rows)
			t.Run("faults", func(t *testing.T) { eachShape(t, k.faults) })
			t.Run("ends", func(t *testing.T) { eachShape(t, k.ends) })
		})
	}
}

// Rows tests that subjects give the same rows in some shapes, for some workers and schedules, and come to an end in
// some of the ways in which Run has them end: for tests of what steps are made of.
func Rows(t *testing.T, subjects ...Subject) {
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			k := newKit(t, s)
			k.brief = true
			t.Run("rows", k.rows)
			if backends.OnHost() {
				t.Run("faults", func(t *testing.T) { k.faults(t, someShapes[2]) })
				t.Run("ends", func(t *testing.T) { k.ends(t, someShapes[2]) })
			}
		})
	}
}

// kit tests one subject.
type kit struct {
	Subject
	brief   bool // rows of few kinds, for few workers; few faults and ends
	backend *kernels.Backend
	counted *memory.Counted
}

func newKit(t *testing.T, s Subject) *kit {
	k := &kit{Subject: s}
	k.backend = backends.Open(t, func(a memory.Allocator) memory.Allocator {
		if k.counted = memory.NewCounted(a); testing.Verbose() { // a call stack a block takes a fifth of the time
			k.counted = memory.NewTraced(a)
		}
		return k.counted
	})
	t.Cleanup(func() { require.NoError(t, k.backend.Close()) })
	return k
}

// run is one run of a subject.
type run struct {
	ctx     context.Context
	rows    string // of a morsel; empty for those of a query
	workers int
	seed    uint64 // of a schedule; 0 for none
	check   *checker
	stop    int // after so many batches; 0 for never
	sources []*source
}

// sourcesOf are sources of rows, of which the second has fewer.
func (k *kit) sourcesOf(t *testing.T, v values, s shape) []*source {
	var out []*source
	for i := range k.Inputs {
		less := v
		less.rows = (v.rows + i) / (1 + i)
		batches, err := batchesOf(less, s, uint64(i)+1)
		require.NoError(t, err)
		t.Cleanup(func() { exec.ReleaseAll(batches) })
		out = append(out, &source{schema: memory.HeldSchema(schemaOf(s)), batches: batches, parts: s.parts})
	}
	return out
}

// do runs the subject, and checks that nothing is left of it.
func (k *kit) do(t *testing.T, r run) (got []string, err error) {
	t.Helper()
	t.Setenv(morselVariable, r.rows)
	if r.ctx == nil {
		r.ctx = t.Context()
	}
	if r.check == nil {
		r.check = &checker{}
	}
	r.check.schemas, r.check.host = map[any]*arrow.Schema{}, backends.OnHost()
	h := &exec.Hooks{Workers: r.workers, Check: r.check.check}
	if r.seed > 0 {
		h.Turn, h.State = newSchedule(r.seed).turn, reread
	}
	var in []flow.Source
	for _, s := range r.sources {
		if s.parts {
			in = append(in, splitting{s})
		} else {
			in = append(in, s)
		}
	}
	before, releases := k.counted.Stats().Bytes, memory.OverReleases()
	batches := 0
	err = k.Run(exec.WithHooks(r.ctx, h), k.backend, in, func(b *flow.Batch) error {
		defer b.Release()
		if err := r.check.check(nil, b); err != nil {
			return err
		}
		rows, err := k.show(t, b)
		got = append(got, rows...)
		if batches++; err == nil && batches == r.stop {
			return errEnough
		}
		return err
	})
	require.Equal(t, before, k.counted.Stats().Bytes, "bytes are left (-v says of which call): %v", k.counted.Check())
	require.Equal(t, releases, memory.OverReleases(), "something was released twice")
	for _, s := range r.sources {
		require.NoError(t, s.ended())
	}
	return got, err
}

// show is the rows of a batch as texts, which tell all bits apart but those of NaNs.
func (k *kit) show(t *testing.T, b *flow.Batch) ([]string, error) {
	ctx := context.WithoutCancel(t.Context())
	s, err := k.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, s.Close()) }()
	rows := make([]string, b.Len())
	for i, c := range b.Columns() {
		host, err := k.backend.OnHost(ctx, s, c)
		if err != nil {
			return nil, err
		}
		if err := s.Wait(ctx); err != nil {
			return nil, err
		}
		a, err := memory.ToArrow(host)
		if err != nil {
			return nil, err
		}
		for row := range rows {
			rows[row] += fmt.Sprintf(" %s=%s", b.Schema().Field(i).Name, valueOf(a, row))
		}
		a.Release()
		host.Release()
	}
	return rows, nil
}

func valueOf(a arrow.Array, row int) string {
	if d, ok := a.(*array.Dictionary); ok && !a.IsNull(row) {
		return d.Dictionary().ValueStr(d.GetValueIndex(row))
	}
	return a.ValueStr(row)
}

// rows checks that the rows are the same in every shape, for any workers and schedules.
func (k *kit) rows(t *testing.T) {
	kinds, shapes, workers := allValues, allShapes, []int{1, 2, 3, 8}
	switch {
	case !backends.OnHost():
		kinds, shapes, workers = kinds[1:3], shapes[2:4], workers[:1]
		if k.brief {
			shapes = shapes[1:]
		}
	case k.brief || backends.Brief():
		kinds, shapes, workers = []values{kinds[1], kinds[4], kinds[7], kinds[8], kinds[9]}, shapes[1:4], []int{1, 3}
	}
	for _, v := range kinds {
		shapes, workers := shapes, workers
		if v.few && backends.OnHost() {
			shapes, workers = []shape{allShapes[1], allShapes[3]}, []int{3}
		}
		for _, morsel := range []string{"1", "3", ""} {
			var plain []string
			for i, s := range shapes {
				where := fmt.Sprintf("%s, %s, morsels of %q", v.name, s.name, morsel)
				want, err := k.do(t, run{rows: morsel, workers: 1, sources: k.sourcesOf(t, v, s)})
				require.NoError(t, err, where)
				switch {
				case i == 0:
					plain = want
				case !s.whole: // whose floats may be added in another order
					require.Equal(t, plain, want, where)
				default:
					require.Len(t, want, len(plain), where)
				}
				for _, n := range workers {
					got, err := k.do(t, run{rows: morsel, workers: n, seed: uint64(n + i*10), sources: k.sourcesOf(t, v, s)})
					require.NoError(t, err, "%s, %d workers", where, n)
					require.Equal(t, want, got, "%s, %d workers", where, n)
				}
			}
		}
	}
}

// someValues and someShapes are of the runs that do not end well.
var (
	someValues = allValues[1]
	someShapes = allShapes[1:4]
)

// eachShape tests shapes, of devices one.
func eachShape(t *testing.T, f func(t *testing.T, s shape)) {
	for i, s := range someShapes {
		if i == 0 || backends.OnHost() {
			t.Run(s.name, func(t *testing.T) { f(t, s) })
		}
	}
}

// few reports whether faults and ends are few: in a brief round on a device or under the race detector, where each run takes long.
func (k *kit) few() bool {
	return k.brief || backends.Brief() && (backends.RaceDetector || !backends.OnHost())
}

// faults checks what comes of sources, and of steps, that fail.
func (k *kit) faults(t *testing.T, s shape) {
	places, counts := []int{0, 1, 4}, []int{1, 3}
	if k.few() {
		places, counts = places[2:], counts[1:]
	}
	for input := range k.Inputs {
		for _, at := range places {
			for _, workers := range counts {
				for _, f := range []fault{faultFails, faultPanics, faultHangs} {
					ctx, cancel := context.WithCancel(t.Context())
					sources := k.sourcesOf(t, someValues, s)
					bad := sources[input]
					bad.fault, bad.at, bad.hangs = f, at, cancel
					_, err := k.do(t, run{ctx: ctx, rows: "3", workers: workers, seed: uint64(at + 1), sources: sources})
					cancel()
					if !bad.met { // nobody needed so many rows
						require.NoError(t, err)
						continue
					}
					switch f {
					case faultFails:
						require.ErrorIs(t, err, errBroken)
					case faultPanics:
						require.ErrorContains(t, err, errBroken.Error())
					case faultHangs:
						require.ErrorIs(t, err, context.Canceled)
					}
				}
			}
		}
	}
}

// ends checks consumers that stop, contexts that end, and steps that fail, before each of some batches.
func (k *kit) ends(t *testing.T, s shape) {
	counts, morsels, most, befores := []int{1, 3}, []string{"3", ""}, 3, int64(7)
	if k.few() {
		counts, morsels, most, befores = counts[1:], morsels[:1], 1, 3
	}
	for _, workers := range counts {
		for _, rows := range morsels {
			for stop := 1; stop <= most; stop++ {
				_, err := k.do(t, run{rows: rows, workers: workers, seed: uint64(stop), stop: stop, sources: k.sourcesOf(t, someValues, s)})
				if !errors.Is(err, errEnough) {
					require.NoError(t, err)
				}
			}
			all := &checker{}
			_, err := k.do(t, run{rows: rows, workers: workers, check: all, sources: k.sourcesOf(t, someValues, s)})
			require.NoError(t, err)
			n := all.seen.Load()
			for at := int64(1); at <= n; at += 1 + n/befores {
				k.endsBefore(t, s, rows, workers, at)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := k.do(t, run{ctx: ctx, workers: 3, sources: k.sourcesOf(t, someValues, s)})
	require.ErrorIs(t, err, context.Canceled)
}

// endsBefore ends a context before a batch, and has a step fail there.
func (k *kit) endsBefore(t *testing.T, s shape, rows string, workers int, at int64) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	end := &checker{at: at, act: func() error { cancel(); return nil }}
	_, err := k.do(t, run{ctx: ctx, rows: rows, workers: workers, seed: uint64(at), check: end, sources: k.sourcesOf(t, someValues, s)})
	if err != nil { // the last batches may be there already
		require.ErrorIs(t, err, context.Canceled)
	}
	fails := &checker{at: at, act: func() error { return errStep }}
	_, err = k.do(t, run{rows: rows, workers: workers, seed: uint64(at), check: fails, sources: k.sourcesOf(t, someValues, s)})
	if err != nil { // a consumer may have had enough
		require.ErrorIs(t, err, errStep)
	}
}

// Drain hands the batches of a source, which it closes, to each.
func Drain(ctx context.Context, s exec.Source, each func(*flow.Batch) error) error {
	defer s.Close()
	for {
		b, err := s.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = each(b)
		}
		if err != nil {
			return err
		}
	}
}
