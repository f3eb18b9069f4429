package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// verdict is a target and what came of it.
type verdict struct {
	Target  string   `json:"target"`
	Needed  float64  `json:"needed"`
	Value   *float64 `json:"value,omitempty"` // nil where it was not measured
	Verdict string   `json:"verdict"`         // "reached", "not reached", "not measured", "not judged"
	From    string   `json:"from"`            // what was compared, or what is missing
}

// rounding is what a ratio may lack: targets are given to two digits.
const rounding = 0.005

func judge(r *results) []verdict {
	var all []verdict
	add := func(target string, needed float64, value float64, from string) {
		v := verdict{Target: target, Needed: needed, Verdict: "not measured", From: from}
		if !math.IsNaN(value) {
			v.Value = &value
			switch {
			case !r.Judged:
				v.Verdict = "not judged"
			case value >= needed-rounding:
				v.Verdict = "reached"
			default:
				v.Verdict = "not reached"
			}
		}
		all = append(all, v)
	}
	for _, op := range []string{"filter_10", "filter_50", "filter_count", "sum", "minmax", "cumsum"} {
		share, from := shareOf(r.Bench, op, "of the device's copy bandwidth")
		add(op+": share of copy", 0.8, share, from)
	}
	for _, op := range []string{"sort_32", "argsort_32"} {
		ratio, from := against(r.Peers, op, "volley", "cupy")
		add(op+": speed against CUB through CuPy", 0.8, ratio, from)
	}
	for _, op := range []string{"groupby_100", "groupby_1e5", "groupby_unique"} {
		ratio, from := against(r.Peers, op, "volley", "cupy", "torch")
		add(op+": speed against the better of CuPy and PyTorch", 2, ratio, from)
	}
	for _, op := range gemms(r.Bench) {
		ratio, from := against(r.Bench, op, "volley", "cublas")
		add(op+": our kernel against cuBLAS", 0.7, ratio, from)
		ratio, from = against(r.Peers, op, "cublas", "cupy", "torch")
		add(op+": through cuBLAS against the better of CuPy and PyTorch", 1, ratio, from)
	}
	for _, op := range []string{"h2d_pinned", "d2h_pinned"} {
		share, from := shareOf(r.Bench, op, "of the link")
		add(op+": share of the link", 0.9, share, from)
	}
	return all
}

// gemms are the products in float32 that were measured, or the name of all where
// there is none, so that the table says so.
func gemms(bench []record) []string {
	var ops []string
	for _, b := range bench {
		if strings.HasPrefix(b.Op, "gemm_f32_") && !slices.Contains(ops, b.Op) {
			ops = append(ops, b.Op)
		}
	}
	if ops == nil {
		return []string{"gemm_f32"}
	}
	return ops
}

// shareOf is the share of the limit that volley reached, NaN where there is none.
// A wrong answer counts as none.
func shareOf(all []record, op, of string) (float64, string) {
	for _, b := range all {
		if b.Op != op || b.Engine != "volley" {
			continue
		}
		switch {
		case b.Wrong():
			return math.NaN(), "the answer is wrong"
		case b.ShareOfLimit == nil || b.GBs == nil:
			return math.NaN(), "the limit is not known"
		}
		return *b.ShareOfLimit, fmt.Sprintf("%.0f GB/s %s", *b.GBs, of)
	}
	return math.NaN(), op + " was not run"
}

// against is how much faster the one engine is than the best of the others: the
// ratio of the medians over the turns of their median times.
func against(all []record, op, one string, others ...string) (float64, string) {
	mine, wrong := medianOf(all, op, one)
	switch {
	case wrong:
		return math.NaN(), "the answer of " + one + " is wrong"
	case math.IsNaN(mine):
		return math.NaN(), fmt.Sprintf("no %s by %s", op, one)
	}
	best, name := math.NaN(), ""
	for _, other := range others {
		if m, wrong := medianOf(all, op, other); !wrong && !math.IsNaN(m) && !(m >= best) {
			best, name = m, other
		}
	}
	if name == "" {
		return math.NaN(), fmt.Sprintf("no %s by %s", op, strings.Join(others, " or "))
	}
	return best / mine, fmt.Sprintf("%s %.3g ms, %s %.3g ms", one, mine*1e3, name, best*1e3)
}

func medianOf(all []record, op, engine string) (seconds float64, wrong bool) {
	var each []float64
	for _, r := range all {
		if r.Op == op && r.Engine == engine && r.MedianS != nil && *r.MedianS > 0 {
			each, wrong = append(each, *r.MedianS), wrong || r.Wrong()
		}
	}
	if each == nil {
		return math.NaN(), wrong
	}
	slices.Sort(each)
	n := len(each)
	return (each[(n-1)/2] + each[n/2]) / 2, wrong
}
