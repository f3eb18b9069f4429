package expr

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// fusing is a backend that computes programs, whatever the number of rows: with
// a function of its own, else the reference's. calls counts them.
func fusing(t testing.TB, b *kernels.Backend) (f *kernels.Backend, calls *int) {
	t.Helper()
	before := fuseRows
	fuseRows = 0
	t.Cleanup(func() { fuseRows = before })
	set := *b.Set
	if set.Evaluate.Func == nil {
		set.Evaluate = reference.New().Evaluate
	}
	inner := set.Evaluate.Func
	calls = new(int)
	set.Evaluate.Func = func(ctx context.Context, s device.Stream, p *kernels.Program, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
		*calls++
		return inner(ctx, s, p, rows, columns)
	}
	return &kernels.Backend{Device: b.Device, Set: &set}, calls
}

func TestFusedEqualsPlainGo(t *testing.T) {
	plain, s := testBackend(t)
	if plain.Set.Evaluate.Func == nil && plain.Device.Place() != memory.Host {
		return // a remote device has the CPU's kernels, and the reference wants the host's columns
	}
	b, calls := fusing(t, plain)
	for _, n := range []int{0, 1, 65, 300} {
		rows, columns := randomRows(t, b, n, uint64(n))
		for _, c := range cases {
			got := evalText(t, b, s, c.text, rowSchema, columns)
			for i, r := range rows {
				want := c.want(r)
				if got[i].Valid() != want.Valid() || want.Valid() && got[i].String() != want.String() {
					t.Fatalf("%s, row %d of %d: %s, want %s", c.text, i, n, got[i], want)
				}
			}
		}
	}
	if *calls < 20 {
		t.Errorf("only %d programs were computed", *calls)
	}
}

// Several results of numbers are one program; what no program computes stands
// between two.
func TestFusedPrograms(t *testing.T) {
	register(t)
	plain, s := testBackend(t)
	if plain.Set.Evaluate.Func == nil && plain.Device.Place() != memory.Host {
		return // as above
	}
	b, calls := fusing(t, plain)
	_, columns := randomRows(t, b, 100, 5)
	for text, want := range map[string]int{
		"a + b * 2; f / 3 + 1; a":                     1,
		"case when s = 'a' then a * 2 + 1 else b end": 1,
		"(a + b) * 2 in (2, 4) and f * 2 > 3":         2,
		"a + 1":                                       0, // a kernel of its own
		"expr_blend(f, f) * 2 + 1":                    1,
		"coalesce(a, b) * 2 + 1 > 3":                  1,
		"s = 'a' or s = 'b'":                          0,
		"if_else(a > b, a - b, b - a)":                1,
		"sqrt(abs(f)) + cast(a as int8)":              1,
	} {
		*calls = 0
		var all []*Expr
		for _, part := range strings.Split(text, ";") {
			e, err := Parse(part)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		bound, err := BindAll(rowSchema, all...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bound.EvalAll(context.Background(), b, s, 100, columns)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if *calls != want {
			t.Errorf("%s: %d programs, not %d", text, *calls, want)
		}
		separate, err := bound.EvalAll(context.Background(), plain, s, 100, columns)
		if err != nil {
			t.Fatal(err)
		}
		for k := range got {
			x, y := scalars(t, b, s, got[k]), scalars(t, b, s, separate[k])
			for i := range x {
				if x[i].String() != y[i].String() {
					t.Fatalf("%s: result %d, row %d: %s, not %s", text, k, i, x[i], y[i])
				}
			}
		}
		release(got)
		release(separate)
	}
}

// A row that is refused is named as without fusion.
func TestFusedNamesTheRow(t *testing.T) {
	plain, s := testBackend(t)
	if plain.Set.Evaluate.Func == nil && plain.Device.Place() != memory.Host {
		return // as above
	}
	b, calls := fusing(t, plain)
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	x := columnOf(t, b, schema.Field(0).Type, []kernels.Scalar{kernels.Int64(2), kernels.Int64(1), kernels.Int64(0)})
	_, err := mustBind(t, "10 / x + 1", schema).Eval(context.Background(), b, s, 3, []*memory.Column{x})
	if !errors.Is(err, device.ErrValue) || !strings.Contains(err.Error(), "row 2") || *calls != 1 {
		t.Errorf("division by zero in row 2: %v, %d programs", err, *calls)
	}
}
