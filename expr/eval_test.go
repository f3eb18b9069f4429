package expr

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// row is one row of the random columns a (int64), b (int64), f (float64) and s
// (utf8); a nil is a null.
type row struct {
	a, b *int64
	f    *float64
	s    *string
}

var rowSchema = arrow.NewSchema([]arrow.Field{
	{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "b", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// randomRows makes n rows, a fifth of the values null, and columns of them that
// are windows of larger ones.
func randomRows(t testing.TB, b *kernels.Backend, n int, seed uint64) ([]row, []*memory.Column) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]row, n)
	lists := make([][]kernels.Scalar, 4)
	for i := range rows {
		a, b, f, s := r.Int64N(20)-10, r.Int64N(20)-10, float64(r.Int64N(100))/8, string(rune('a'+r.IntN(4)))
		if r.IntN(5) > 0 {
			rows[i].a = &a
		}
		if r.IntN(5) > 0 {
			rows[i].b = &b
		}
		if r.IntN(5) > 0 {
			rows[i].f = &f
		}
		if r.IntN(5) > 0 {
			rows[i].s = &s
		}
	}
	pad := 3
	for k, f := range rowSchema.Fields() {
		list := make([]kernels.Scalar, 0, n+pad)
		for range pad {
			list = append(list, kernels.Null(f.Type))
		}
		for _, r := range rows {
			v := kernels.Null(f.Type)
			switch {
			case k == 0 && r.a != nil:
				v = kernels.Int64(*r.a)
			case k == 1 && r.b != nil:
				v = kernels.Int64(*r.b)
			case k == 2 && r.f != nil:
				v = kernels.Float64(*r.f)
			case k == 3 && r.s != nil:
				v = kernels.String(*r.s)
			}
			list = append(list, v)
		}
		lists[k] = list
	}
	columns := make([]*memory.Column, 4)
	for k, f := range rowSchema.Fields() {
		var err error
		if columns[k], err = columnOf(t, b, f.Type, lists[k]).Slice(int64(pad), int64(n)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(columns[k].Release)
	}
	return rows, columns
}

func null() kernels.Scalar { return kernels.Null(arrow.Null) }

// cases pairs an expression with what it is of one row, in plain Go.
var cases = []struct {
	text string
	want func(r row) kernels.Scalar
}{
	{"a + b * 2", func(r row) kernels.Scalar {
		if r.a == nil || r.b == nil {
			return null()
		}
		return kernels.Int64(*r.a + *r.b*2)
	}},
	{"a > b and f >= 5 or s = 'c'", func(r row) kernels.Scalar {
		x, y, z := truthOf(r.a != nil && r.b != nil, func() bool { return *r.a > *r.b }),
			truthOf(r.f != nil, func() bool { return *r.f >= 5 }), truthOf(r.s != nil, func() bool { return *r.s == "c" })
		if z == 1 || x == 1 && y == 1 {
			return kernels.Bool(true)
		}
		if z == 0 && (x == 0 || y == 0) {
			return kernels.Bool(false)
		}
		return null()
	}},
	{"case when a > 0 then f when b > 0 then -f else 0 end", func(r row) kernels.Scalar {
		switch {
		case r.a != nil && *r.a > 0 && r.f != nil:
			return kernels.Float64(*r.f)
		case r.a != nil && *r.a > 0:
			return null()
		case r.b != nil && *r.b > 0 && r.f != nil:
			return kernels.Float64(-*r.f)
		case r.b != nil && *r.b > 0:
			return null()
		}
		return kernels.Float64(0)
	}},
	{"coalesce(a, b, 7) % 3", func(r row) kernels.Scalar {
		v := int64(7)
		if r.b != nil {
			v = *r.b
		}
		if r.a != nil {
			v = *r.a
		}
		return kernels.Int64(v % 3)
	}},
	{"s in ('a', 'b') and a is not null", func(r row) kernels.Scalar {
		if r.s == nil && r.a != nil {
			return null()
		}
		return kernels.Bool(r.s != nil && (*r.s == "a" || *r.s == "b") && r.a != nil)
	}},
	{"is_in(s, 'a', 'b') and a is not null", func(r row) kernels.Scalar {
		return kernels.Bool(r.s != nil && (*r.s == "a" || *r.s == "b") && r.a != nil)
	}},
	{"if_else(a < 3, s, 'none')", func(r row) kernels.Scalar {
		switch {
		case r.a == nil || *r.a < 3 && r.s == nil:
			return null()
		case *r.a < 3:
			return kernels.String(*r.s)
		}
		return kernels.String("none")
	}},
	{"a not between -2 and 4.5", func(r row) kernels.Scalar {
		if r.a == nil {
			return null()
		}
		return kernels.Bool(*r.a < -2 || float64(*r.a) > 4.5)
	}},
	{"cast(a as float64) + f", func(r row) kernels.Scalar {
		if r.a == nil || r.f == nil {
			return null()
		}
		return kernels.Float64(float64(*r.a) + *r.f)
	}},
	{"1 + 2", func(row) kernels.Scalar { return kernels.Int64(3) }},
	{"s", func(r row) kernels.Scalar {
		if r.s == nil {
			return null()
		}
		return kernels.String(*r.s)
	}},
}

// truthOf is 1 for true, 0 for false, -1 for null.
func truthOf(known bool, f func() bool) int {
	switch {
	case !known:
		return -1
	case f():
		return 1
	}
	return 0
}

func TestEvalEqualsPlainGo(t *testing.T) {
	b, s := testBackend(t)
	for _, n := range []int{0, 1, 63, 65, run + 1, 2*run + 77} {
		seed := uint64(n)
		rows, columns := randomRows(t, b, n, seed)
		for _, c := range cases {
			got := evalText(t, b, s, c.text, rowSchema, columns)
			if len(got) != n {
				t.Fatalf("%s: %d results for %d rows", c.text, len(got), n)
			}
			for i, r := range rows {
				want := c.want(r)
				if got[i].Valid() != want.Valid() || want.Valid() && got[i].String() != want.String() {
					t.Fatalf("%s, seed %d, row %d of %d: %s, want %s", c.text, seed, i, n, got[i], want)
				}
			}
		}
	}
}

// TestEvalNamesTheRow: errors count rows from the first, also in runs.
func TestEvalNamesTheRow(t *testing.T) {
	b, s := testBackend(t)
	n := 3*run + 5
	values := make([]kernels.Scalar, n)
	for i := range values {
		values[i] = kernels.Int64(int64(i + 1))
	}
	values[2*run+9] = kernels.Int64(0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	c := columnOf(t, b, schema.Field(0).Type, values)
	_, err := mustBind(t, "10 / x + 1", schema).Eval(context.Background(), b, s, int64(n), []*memory.Column{c})
	if !errors.Is(err, device.ErrValue) || !strings.Contains(err.Error(), "row 131081") {
		t.Errorf("division by zero in row 131081: %v", err)
	}
	_, err = mustBind(t, "multiply_checked(x, 9223372036854775807)", schema).Eval(context.Background(), b, s, int64(n), []*memory.Column{c})
	if !errors.Is(err, device.ErrValue) || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("overflow in row 1: %v", err)
	}
}

func TestEvalStops(t *testing.T) {
	b, s := testBackend(t)
	_, columns := randomRows(t, b, 8*run, 9)
	bound := mustBind(t, "sqrt(exp(f) + ln(f + 1)) * sqrt(exp(f) + 1) > a + b", rowSchema)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	begin := time.Now()
	for time.Since(begin) < 5*time.Second {
		c, err := bound.Eval(ctx, b, s, columns[0].Len(), columns)
		c.Release()
		if err == nil {
			continue
		}
		if !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ended with %v", err)
		}
		return
	}
	t.Fatal("went on after its context had ended")
}

func TestEvalChecksColumns(t *testing.T) {
	b, s := testBackend(t)
	_, columns := randomRows(t, b, 10, 3)
	bound := mustBind(t, "a + b", rowSchema)
	for name, bad := range map[string][]*memory.Column{
		"missing":     {columns[0], nil, nil, nil},
		"of a type":   {columns[0], columns[2], nil, nil},
		"none at all": nil,
	} {
		if _, err := bound.Eval(context.Background(), b, s, 10, bad); !errors.Is(err, device.ErrMismatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEvalWithinTooLittleMemory(t *testing.T) {
	b, s := testBackend(t)
	_, columns := randomRows(t, b, 3*run, 4)
	limited := memory.NewLimited(b.Device.Memory(), 1<<19)
	tight := &kernels.Backend{Device: devicetest.WithMemory(b.Device, limited), Set: b.Set}
	st, err := tight.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	_ = s
	_, err = mustBind(t, "a + b * 2", rowSchema).Eval(context.Background(), tight, st, columns[0].Len(), columns)
	if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "requested") || !strings.Contains(err.Error(), "free") {
		t.Errorf("out of memory: %v", err)
	}
	if err := st.Close(); err != nil { // copies under way hold what they use
		t.Error(err)
	}
	if limited.InUse() != 0 {
		t.Errorf("%d bytes leaked", limited.InUse())
	}
}
