package flowtest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/memory"
)

// batchFrom is a batch of three numbers with one null, of which the bits of nulls say what they are told to.
func batchFrom(t *testing.T, schema *arrow.Schema, nulls int64) *flow.Batch {
	valid, err := memory.NewZeroed(memory.Heap, memory.BitmapBytes(3))
	require.NoError(t, err)
	memory.Bitmap(valid.Bytes()).Set(0)
	memory.Bitmap(valid.Bytes()).Set(2)
	data, err := memory.NewZeroed(memory.Heap, 24)
	require.NoError(t, err)
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: 3, Nulls: nulls, Buffers: []*memory.Buffer{valid, data}, Place: memory.Host})
	require.NoError(t, err)
	b, err := flow.NewBatch(schema, 3, []*memory.Column{c})
	require.NoError(t, err)
	t.Cleanup(b.Release)
	return b
}

func schemaNamed(name string) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
}

// The checker lets whole batches pass, and no other.
func TestChecker(t *testing.T) {
	step := new(int)
	c := &checker{host: true, schemas: map[any]*arrow.Schema{}}
	whole := batchFrom(t, schemaNamed("v"), 1)
	require.NoError(t, c.check(step, whole))
	require.NoError(t, c.check(step, whole))
	require.ErrorContains(t, c.check(step, batchFrom(t, schemaNamed("w"), 1)), "batches of")
	require.ErrorContains(t, c.check(new(int), batchFrom(t, schemaNamed("v"), 2)), "nulls")
	none, err := whole.Slice(0, 0)
	require.NoError(t, err)
	defer none.Release()
	require.ErrorContains(t, c.check(step, none), "no rows")
	c = &checker{at: 2, act: func() error { return errStep }, schemas: map[any]*arrow.Schema{}}
	require.NoError(t, c.check(step, whole))
	require.ErrorIs(t, c.check(step, whole), errStep)
	require.NoError(t, c.check(step, whole))
}

// lying is a state that says other rows than it has, or loses some where it is written or read.
type lying struct {
	exec.Kept
	more, loses int64
}

type liar struct {
	exec.Keep
	loses int64
}

func (l liar) Make(context.Context) (exec.SinkState, error) { return &lying{loses: l.loses}, nil }

func (l *lying) Rows() int64 { return l.Kept.Rows() + l.more }

func (l *lying) Read(ctx context.Context, written []*flow.Batch) error {
	for range l.loses {
		written[0].Release()
		written = written[1:]
	}
	return l.Kept.Read(ctx, written)
}

// A state that is not what it says, or does not come back whole, is found.
func TestReread(t *testing.T) {
	b := batchFrom(t, schemaNamed("v"), 1)
	for _, k := range []struct {
		more, loses int64
		want        string
	}{{0, 0, ""}, {1, 0, "writes"}, {0, 1, "reads as"}} {
		made := &lying{more: k.more}
		require.NoError(t, made.Update(t.Context(), b.Retain()))
		out, err := reread(t.Context(), liar{loses: k.loses}, made)
		if k.want == "" {
			require.NoError(t, err)
			require.EqualValues(t, 3, out.Rows())
		} else {
			require.ErrorContains(t, err, k.want)
		}
		out.Close()
	}
}

// A schedule lets each that comes go on, and not in the order in which they came.
func TestSchedule(t *testing.T) {
	s := newSchedule(5)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				s.turn(t.Context())
			}
		})
	}
	all.Wait()
	require.Empty(t, s.held)
}

// A source does what it is told to, when it is told to, and says which readers stay open.
func TestSource(t *testing.T) {
	b := batchFrom(t, schemaNamed("v"), 1)
	k := newKit(t, Subject{})
	for _, f := range []fault{faultNone, faultFails, faultPanics, faultHangs} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &source{schema: b.Schema(), batches: []*flow.Batch{b}, fault: f, at: 1, hangs: cancel}
		in, err := Open(ctx, s, k.backend)
		require.NoError(t, err)
		require.Error(t, s.ended())
		one, err := in.Next(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 3, one.Len())
		one.Release()
		switch f {
		case faultNone:
			_, err = in.Next(ctx)
			require.Equal(t, io.EOF, err)
		case faultFails:
			_, err = in.Next(ctx)
			require.ErrorIs(t, err, errBroken)
		case faultHangs:
			_, err = in.Next(ctx)
			require.True(t, errors.Is(err, context.Canceled))
		case faultPanics:
			require.Panics(t, func() { _, _ = in.Next(ctx) })
		}
		require.Equal(t, f != faultNone, s.met)
		in.Close()
		require.NoError(t, s.ended())
		cancel()
	}
}

// Rows are the same in every shape.
func TestData(t *testing.T) {
	for _, v := range allValues {
		k := newKit(t, Subject{})
		var want []string
		for i, s := range allShapes {
			batches, err := batchesOf(v, s, 3)
			require.NoError(t, err)
			require.EqualValues(t, v.rows, exec.RowsOf(batches))
			var got []string
			for _, b := range batches {
				rows, err := k.show(t, b)
				require.NoError(t, err)
				got = append(got, rows...)
			}
			if i == 0 {
				want = got
			}
			require.Equal(t, want, got, "%s, %s", v.name, s.name)
			exec.ReleaseAll(batches)
		}
	}
}
