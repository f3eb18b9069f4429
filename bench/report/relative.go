package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// ReadRecords reads the records of lines of JSON as a [Writer] wrote them; lines
// that are no records of steps are left out. The error names the line.
func ReadRecords(r io.Reader) ([]Record, error) {
	var records []Record
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var rec Record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			return nil, fmt.Errorf("report: line %d: %w", n, err)
		}
		if rec.Op == "" {
			continue
		}
		if err := rec.validate(); err != nil {
			return nil, fmt.Errorf("report: line %d: %w", n, err)
		}
		records = append(records, rec)
	}
	return records, lines.Err()
}

// Relative makes a chart of how many times as long as a base engine the others
// took, by shortest times: a group for each of ops, a bar for each of engines,
// the base first. An operation without a time of the base, and an engine without
// a time of any operation, is an error; a wrong answer gives no bar. The operation
// [MeanOp] is the geometric mean over all operations of which every engine has a time.
func Relative(records []Record, base string, engines, ops []string) (Chart, error) {
	c := Chart{
		Name: "relative", Groups: slices.Clone(ops), Axis: "time, as a multiple of " + base + "'s",
		Print: func(v float64) string { return threeDigits(v) + " ×" },
	}
	all := append([]string{base}, slices.DeleteFunc(slices.Clone(engines), func(e string) bool { return e == base })...)
	common := commonOps(records, all)
	for i, op := range ops {
		if op == MeanOp {
			c.Groups[i] = fmt.Sprintf("mean of %d", len(common))
		}
	}
	for _, engine := range all {
		s := Series{Name: engine}
		seen := false
		for _, op := range ops {
			if op == MeanOp && len(common) > 0 {
				s.Values = append(s.Values, meanOver(records, base, engine, common))
				continue
			}
			unit, v := shortest(records, base, op), shortest(records, engine, op)
			if math.IsNaN(unit) || unit == 0 {
				return Chart{}, fmt.Errorf("report: no time of %s for %s", base, op)
			}
			seen = seen || !math.IsNaN(v)
			s.Values = append(s.Values, v/unit)
		}
		if !seen {
			return Chart{}, fmt.Errorf("report: no time of %s for any of %s", engine, strings.Join(ops, ", "))
		}
		c.Series = append(c.Series, s)
	}
	return c, c.check()
}

// shortest is the shortest time of an engine's right answers to an operation,
// NaN where there is none.
func shortest(records []Record, engine, op string) float64 {
	best := math.NaN()
	for i := range records {
		r := &records[i]
		if r.Engine == engine && r.Op == op && r.MinS != nil && !r.Wrong() && !(*r.MinS >= best) {
			best = *r.MinS
		}
	}
	return best
}

// MeanOp is the name of the mean among operations of [Relative].
const MeanOp = "mean"

// commonOps are the operations of which every engine has a time, in the order of the records.
func commonOps(records []Record, engines []string) []string {
	var ops []string
	for i := range records {
		op := records[i].Op
		lacks := func(engine string) bool { return math.IsNaN(shortest(records, engine, op)) }
		if !slices.Contains(ops, op) && !slices.ContainsFunc(engines, lacks) {
			ops = append(ops, op)
		}
	}
	return ops
}

// meanOver is the geometric mean of an engine's times over those of the base.
func meanOver(records []Record, base, engine string, ops []string) float64 {
	sum := 0.0
	for _, op := range ops {
		sum += math.Log(shortest(records, engine, op) / shortest(records, base, op))
	}
	return math.Exp(sum / float64(len(ops)))
}
