package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCharts(t *testing.T) {
	c := Charts(sample())
	var names []string
	for _, c := range c {
		names = append(names, c.Name)
	}
	if want := []string{"flights-time", "flights-limit", "columnar-time", "columnar-limit"}; !slices.Equal(names, want) {
		t.Fatalf("charts %q, want %q", names, want)
	}
	if !c[0].Log || c[2].Log {
		t.Error("the axis is to be logarithmic for a spread over 50 and only then")
	}
	if len(c[0].Groups) != 5 || len(c[0].Series) != 2 || c[0].Series[1].Name != "reference on cpu" {
		t.Errorf("groups %q, series %+v", c[0].Groups, c[0].Series)
	}
	if lo, _ := c[0].axis(); lo != 1e-4 {
		t.Errorf("the logarithmic axis begins at %v", lo)
	}
	if got := Charts([]Record{{Suite: "s", Op: "x", OK: Of(true)}}); len(got) != 0 {
		t.Errorf("a record without a time or a share gave %+v", got)
	}
}

func TestChartLabelsTellApart(t *testing.T) {
	r := func(op, engine, version string, rows int64, threads int, s float64) Record {
		return Record{Suite: "s", Op: op, Engine: engine, Version: version, Device: "cpu", Rows: &rows, Threads: threads, MedianS: &s}
	}
	c := Charts([]Record{
		r("sort", "volley", "1", 1e6, 1, 1), r("sort", "volley", "1", 1e7, 1, 2), r("sort", "volley", "1", 1e7, 2, 3),
		r("filter", "peer", "1", 1e6, 1, 4), r("filter", "peer", "2", 1e6, 1, 5),
	})[0]
	if want := []string{"sort, 1.00 M rows", "sort, 10.0 M rows", "filter"}; !slices.Equal(c.Groups, want) {
		t.Errorf("groups %q", c.Groups)
	}
	nan := math.NaN()
	want := []Series{
		{"volley on cpu, threads: 1", []float64{1, 2, nan}}, {"volley on cpu, threads: 2", []float64{nan, 3, nan}},
		{"peer 1 on cpu", []float64{nan, nan, 4}}, {"peer 2 on cpu", []float64{nan, nan, 5}},
	}
	equal := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	if !slices.EqualFunc(c.Series, want, func(a, b Series) bool {
		return a.Name == b.Name && slices.EqualFunc(a.Values, b.Values, equal)
	}) {
		t.Errorf("series %+v", c.Series)
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
}

func TestChartOption(t *testing.T) {
	c := Chart{Title: "t", Axis: "seconds", Groups: []string{"a", "b"}, Log: true, Series: []Series{{"s", []float64{0.5, math.NaN()}}}}
	b, err := json.Marshal(c.option())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"data":["a","b"]`, `"value":0.5`, `"value":"-"`, `"type":"log"`, `"startValue":0.1`, `"#0072b2"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the option lacks %s: %s", want, b)
		}
	}
}
