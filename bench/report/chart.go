package report

import (
	"fmt"
	"math"
	"slices"
)

// Chart is a chart of horizontal bars: a group of bars for each operation, in
// each group one bar for each engine and device.
type Chart struct {
	Name   string               // a short name fit for a file, such as "flights-time"
	Title  string               // printed above
	Axis   string               // what the bars measure, with its unit
	Groups []string             // names of the groups, from top to bottom
	Series []Series             // one bar per group each, at most eight for the colours to differ
	Whole  float64              // what the axis reaches at least, such as 100 for a share in per cent; 0 for the longest bar
	Log    bool                 // logarithmic axis; values must then be above zero
	Print  func(float64) string // prints a value at the end of its bar; nil prints three digits
}

// Series is what one engine reached on one device.
type Series struct {
	Name   string
	Values []float64 // one per group of the chart; NaN where there is none
}

// logRatio is the spread of values above which short bars could no longer be
// told apart on a linear axis.
const logRatio = 50

// Charts makes the charts of the records: for each suite, in order of first
// appearance, the median time of each operation, and the share of the
// machine's limit if any record has one. A suite whose records have neither
// gives no chart. The time axis is logarithmic, and says so, when the longest
// time is more than 50 times the shortest.
func Charts(records []Record) []Chart {
	var suites []string
	for _, r := range records {
		if !slices.Contains(suites, r.Suite) {
			suites = append(suites, r.Suite)
		}
	}
	var out []Chart
	for _, s := range suites {
		of := slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Suite != s })
		times := Chart{Name: s + "-time", Title: s + ": median time, shorter is better", Axis: "seconds", Print: Seconds}
		times.fill(of, func(r *Record) *float64 { return r.MedianS })
		if lo, hi := times.span(); lo > 0 && hi/lo > logRatio {
			times.Log, times.Axis = true, "seconds, logarithmic scale"
		}
		share := Chart{
			Name: s + "-limit", Title: s + ": share of what the machine's memory can do, longer is better",
			Axis: "share of the limit, per cent", Whole: 100, Print: func(v float64) string { return threeDigits(v) + " %" },
		}
		share.fill(of, func(r *Record) *float64 {
			if r.ShareOfLimit == nil {
				return nil
			}
			return Of(*r.ShareOfLimit * 100)
		})
		for _, c := range []Chart{times, share} {
			if len(c.Groups) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

// fill adds the records that have a value; of two records of the same bar the
// later one counts.
func (c *Chart) fill(records []Record, value func(*Record) *float64) {
	groups, series := labels(records)
	for i := range records {
		v := value(&records[i])
		if v == nil {
			continue
		}
		g := slices.Index(c.Groups, groups[i])
		if g < 0 {
			g = len(c.Groups)
			c.Groups = append(c.Groups, groups[i])
			for s := range c.Series {
				c.Series[s].Values = append(c.Series[s].Values, math.NaN())
			}
		}
		s := slices.IndexFunc(c.Series, func(s Series) bool { return s.Name == series[i] })
		if s < 0 {
			s = len(c.Series)
			empty := slices.Repeat([]float64{math.NaN()}, len(c.Groups))
			c.Series = append(c.Series, Series{Name: series[i], Values: empty})
		}
		c.Series[s].Values[g] = *v
	}
}

// labels names the group and the series of each record, with only as much
// detail as tells them apart: rows where an operation ran over several sizes,
// version and threads where an engine on a device came in several.
func labels(records []Record) (groups, series []string) {
	type key struct{ engine, device string }
	rows, versions, threads := map[string]int64{}, map[key]string{}, map[key]int{}
	manyRows, manyVersions, manyThreads := map[string]bool{}, map[key]bool{}, map[key]bool{}
	for _, r := range records {
		n := int64(-1)
		if r.Rows != nil {
			n = *r.Rows
		}
		k := key{r.Engine, r.Device}
		if old, ok := rows[r.Op]; ok && old != n {
			manyRows[r.Op] = true
		}
		if old, ok := versions[k]; ok && old != r.Version {
			manyVersions[k] = true
		}
		if old, ok := threads[k]; ok && old != r.Threads {
			manyThreads[k] = true
		}
		rows[r.Op], versions[k], threads[k] = n, r.Version, r.Threads
	}
	for _, r := range records {
		k := key{r.Engine, r.Device}
		g, s := r.Op, r.Engine
		if manyRows[r.Op] && r.Rows != nil {
			g += ", " + Rate(float64(*r.Rows)) + " rows"
		}
		if manyVersions[k] && r.Version != "" {
			s += " " + r.Version
		}
		if r.Device != "" {
			s += " on " + r.Device
		}
		if manyThreads[k] && r.Threads > 0 {
			s += fmt.Sprintf(", threads: %d", r.Threads)
		}
		groups, series = append(groups, g), append(series, s)
	}
	return groups, series
}

// span returns the smallest and the largest value; 0, 0 without values.
func (c *Chart) span() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, v := range s.Values {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return 0, 0
	}
	return lo, hi
}

// axis returns the ends of the value axis: from zero, or from the power of ten
// below the shortest bar, to beyond the longest, which leaves room for its
// printed value, or to the whole of which the bars are shares.
func (c *Chart) axis() (lo, hi float64) {
	lo, hi = c.span()
	if !c.Log {
		if hi <= 0 && c.Whole <= 0 {
			return 0, 1
		}
		return 0, min(max(hi*1.15, c.Whole), math.MaxFloat64)
	}
	lo = max(math.Pow(10, math.Floor(math.Log10(lo*0.8))), math.SmallestNonzeroFloat64)
	return lo, min(hi*math.Pow(hi/lo, 0.15), math.MaxFloat64)
}

func (c *Chart) print(v float64) string {
	if c.Print == nil {
		return threeDigits(v)
	}
	return c.Print(v)
}

// check refuses a chart that cannot be drawn.
func (c *Chart) check() error {
	if len(c.Groups) == 0 || len(c.Series) == 0 {
		return fmt.Errorf("report: chart %q has nothing to show", c.Title)
	}
	for _, s := range c.Series {
		if len(s.Values) != len(c.Groups) {
			return fmt.Errorf("report: chart %q: series %q has %d values for %d groups", c.Title, s.Name, len(s.Values), len(c.Groups))
		}
		for g, v := range s.Values {
			if math.IsInf(v, 0) || v < 0 || c.Log && v == 0 {
				return fmt.Errorf("report: chart %q: %v for %q in %q cannot be drawn", c.Title, v, s.Name, c.Groups[g])
			}
		}
	}
	return nil
}
