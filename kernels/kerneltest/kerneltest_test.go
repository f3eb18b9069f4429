package kerneltest

import (
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// The reference passes its own checks where a family asks for no more than
// right results, and errors planted in it are seen.
func TestSuiteOnReference(t *testing.T) {
	set := reference.New()
	set.Name = "reference under test"
	only := &kernels.Set{Name: set.Name, Filter: set.Filter}
	b := &kernels.Backend{Device: host.New(), Set: only}
	defer b.Close()
	Run(t, b)
	Planted(t, b)
	pairs := pairsOf(only)
	for _, p := range only.Support() {
		if !pairs.set[p] {
			t.Errorf("%v was not run", p)
		}
	}
}

func column(t *testing.T, typ arrow.DataType, values ...kernels.Scalar) *memory.Column {
	t.Helper()
	c, err := kernels.FromScalars(memory.Heap, typ, values)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEqual(t *testing.T) {
	f64, i64, text := arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	f := kernels.Float64
	for _, c := range []struct {
		name      string
		got, want *memory.Column
		tol       Tolerance
		says      string // "" for equal
	}{
		{"nan", column(t, f64, f(math.NaN())), column(t, f64, f(otherNaN)), Tolerance{}, ""},
		{"zeros", column(t, f64, f(0)), column(t, f64, f(math.Copysign(0, -1))), Tolerance{}, "row 0: got 0, want -0"},
		{"zeros alike", column(t, f64, f(0)), column(t, f64, f(math.Copysign(0, -1))), ZeroSigns, ""},
		{"near", column(t, f64, f(1+1e-13)), column(t, f64, f(1)), Tolerance{Rel: 1e-12}, ""},
		{"not near", column(t, f64, f(1+1e-11)), column(t, f64, f(1)), Tolerance{Rel: 1e-12}, "row 0"},
		{"infinite", column(t, f64, f(math.Inf(1))), column(t, f64, f(1)), Tolerance{Rel: 1}, "row 0"},
		{"type", column(t, f64, f(1)), column(t, i64, kernels.Int64(1)), Tolerance{}, "type"},
		{"length", column(t, i64), column(t, i64, kernels.Int64(1)), Tolerance{}, "rows"},
		{"null", column(t, i64, kernels.Int64(1), kernels.Null(i64)), column(t, i64, kernels.Int64(1), kernels.Int64(0)), Tolerance{}, "row 1: got null, want 0"},
		{"text", column(t, text, kernels.String("a")), column(t, text, kernels.String("b")), Tolerance{}, `row 0: got "a", want "b"`},
		{"missing", nil, column(t, i64), Tolerance{}, "got column false"},
	} {
		err := Equal(c.got, c.want, c.tol)
		if c.says == "" && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.says)
		}
	}
}

// Columns made for a case are what the case says, and copies are equal.
func TestColumns(t *testing.T) {
	d := host.New()
	defer d.Close()
	b := &kernels.Backend{Device: d, Set: reference.New()}
	s := newSuite(t, b, b, true, Full)
	s.begin("Filter", 1)
	s.entryTypes = kernels.AllTypes
	stream, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	n := 0
	for c := range s.SmallCases(kernels.AllTypes) {
		n++
		x := s.Column(c)
		if !arrow.TypeEqual(x.Type(), c.Type) || x.Len() != c.Length || x.Offset() != c.Offset {
			t.Fatalf("%s: made %s of %d rows from %d", c, x.Type(), x.Len(), x.Offset())
		}
		if err := x.Validate(); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		nulls, isNull := x.NullCount(), c.Type.ID() == arrow.NULL
		switch {
		case isNull, c.Nulls == AllNull:
			if nulls != c.Length {
				t.Errorf("%s: %d nulls", c, nulls)
			}
		case c.Nulls == NoBitmap, c.Nulls == AllValid:
			if nulls != 0 {
				t.Errorf("%s: %d nulls", c, nulls)
			}
		}
		moved, err := device.Move(t.Context(), stream, d.Memory(), x)
		if err != nil {
			t.Fatal(err)
		}
		if err := Equal(moved, x, Tolerance{}); err != nil {
			t.Errorf("%s: copied: %v", c, err)
		}
		moved.Release()
	}
	s.release(0)
	for _, in := range s.inputs {
		if err := in.close(); err != nil || n < 1000 {
			t.Errorf("%d cases, %v", n, err)
		}
	}
}
