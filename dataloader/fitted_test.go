package dataloader

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
)

// TestStandardScale shifts and scales columns as their rows tell.
func TestStandardScale(t *testing.T) {
	b, a := onHost(t)
	all := made(t, b, table.Column("x", []float64{1, 2, 3, 4, 0}).Valid([]bool{true, true, true, true, false}), table.Column("n", []int32{7, 7, 7, 7, 7}),
		table.Column("bad", []float64{1, math.NaN(), 2, 3, 4}), table.Column("none", make([]float64, 5)).Valid(make([]bool, 5)), table.Column("s", make([]string, 5)))
	columns, err := StandardScale(ctx, all.Query(), "x", "n")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Derive(b, FromTable(all), columns...)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := load(t, d, Options{Batch: 5, Masks: true, Layout: ColumnMajor, Memory: a}).Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	x, err := batch.Features()
	if err != nil {
		t.Fatal(err)
	}
	root := float32(math.Sqrt(1.25))
	if got, want := elements[float32](t, x), []float32{-1.5 / root, -0.5 / root, 0.5 / root, 1.5 / root, 0, 0, 0, 0, 0, 0}; !slices.EqualFunc(got, want, func(a, b float32) bool {
		return math.Abs(float64(a-b)) < 1e-6
	}) || !slices.Equal(x.Valid, []byte{1, 1, 1, 1, 0, 1, 1, 1, 1, 1}) {
		t.Errorf("%v, %v, not %v", got, x.Valid, want)
	}
	if err := batch.Release(); err != nil {
		t.Error(err)
	}
	for want, name := range map[string]string{`"bad": its mean is NaN`: "bad", `"none": its mean is NaN`: "none", "s": "s", `"y"`: "y", "there is no column": ""} {
		columns := []string{name}
		if name == "" {
			columns = nil
		}
		if _, err := StandardScale(ctx, all.Query(), columns...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestCategoriesOf lists the values of a column in the order in which they come.
func TestCategoriesOf(t *testing.T) {
	b, a := onHost(t)
	all := made(t, b, table.Column("s", []string{"b", "a", "", "b", "c"}).Valid([]bool{true, true, false, true, true}), table.Column("n", []int64{3, -1, 3, 2, 2}),
		table.Column("f", make([]float64, 5)))
	for name, want := range map[string][]string{"s": {"b", "a", "c"}, "n": {"3", "-1", "2"}} {
		got, err := CategoriesOf(ctx, all.Query(), name)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		load(t, FromTable(all), Options{Batch: 2, Features: []string{name}, Encode: map[string]*Encoding{name: OneHot(got...)}, Masks: true, Memory: a})
	}
	if _, err := CategoriesOf(ctx, all.Query(), "f"); !errors.Is(err, device.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if _, err := CategoriesOf(ctx, all.Query(), "y"); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("%v", err)
	}
}
