package report

import (
	"fmt"
	"slices"
	"strconv"
)

// steps lists the columns of a table of records: the header, whether the
// column is text, and the cell, empty where the record has nothing to say.
var steps = []struct {
	header string
	left   bool
	cell   func(*Record) string
}{
	{"suite", true, func(r *Record) string { return r.Suite }},
	{"op", true, func(r *Record) string { return r.Op }},
	{"engine", true, func(r *Record) string { return r.Engine }},
	{"version", true, func(r *Record) string { return r.Version }},
	{"way", true, func(r *Record) string { return r.Way }},
	{"device", true, func(r *Record) string { return r.Device }},
	{"rows", false, func(r *Record) string { return optional(r.Rows, Count) }},
	{"threads", false, func(r *Record) string { return positive(r.Threads) }},
	{"CPUs", false, func(r *Record) string { return optional(r.CPUs, threeDigits) }},
	{"runs", false, func(r *Record) string { return positive(r.Runs) }},
	{"median", false, func(r *Record) string { return optional(r.MedianS, Seconds) }},
	{"min", false, func(r *Record) string { return optional(r.MinS, Seconds) }},
	{"rows/s", false, func(r *Record) string {
		v, ok := r.RowsPerSecond()
		if !ok {
			return ""
		}
		return Rate(v)
	}},
	{"bytes", false, func(r *Record) string { return optional(r.Bytes, Bytes) }},
	{"GB/s", false, func(r *Record) string { return optional(r.GBs, threeDigits) }},
	{"of limit", false, func(r *Record) string { return optional(r.ShareOfLimit, percent) }},
	{"GFLOP/s", false, func(r *Record) string { return optional(r.GFLOPs, threeDigits) }},
	{"of peak", false, func(r *Record) string { return optional(r.ShareOfPeak, percent) }},
	{"peak memory", false, func(r *Record) string { return optional(r.PeakRSSBytes, Bytes) }},
	{"with input", false, func(r *Record) string { return optional(r.WholeBytes, Bytes) }},
	{"growth", false, func(r *Record) string { return optional(r.GrowthBytes, Bytes) }},
	{"answer", true, func(r *Record) string {
		return optional(r.OK, func(ok bool) string {
			if ok {
				return "right"
			}
			return "WRONG"
		})
	}},
}

// Steps makes a grid of records, one row each in the order given. A column
// that would be empty in every row is left out, and so is the suite when it is
// the same in all.
func Steps(title string, records []Record) Grid {
	g := Grid{Title: title, Rows: make([][]string, len(records))}
	for _, c := range steps {
		cells, used := make([]string, len(records)), false
		for i := range records {
			cells[i] = c.cell(&records[i])
			used = used || cells[i] != ""
		}
		if !used || c.header == "suite" && len(slices.Compact(slices.Clone(cells))) == 1 {
			continue
		}
		g.Header = append(g.Header, c.header)
		g.Left = append(g.Left, c.left)
		for i, s := range cells {
			g.Rows[i] = append(g.Rows[i], s)
		}
	}
	return g
}

func optional[T any](v *T, print func(T) string) string {
	if v == nil {
		return ""
	}
	return print(*v)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }
