package tpch

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/volley-go/volley/table"
)

// tolerance is the relative difference that computed floats may have.
const tolerance = 1e-9

// Answer is the rows of a result as text, a null as an empty one.
type Answer struct {
	Columns []string
	Rows    [][]string
	floats  []bool // the columns whose values are floats
}

// ReadAnswer reads an answer from a CSV file with a header.
func ReadAnswer(path string) (*Answer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if i > 0 && line == "" && !strings.Contains(lines[0], ",") {
			lines[i] = `""` // a null in the one column, which the reader would take for no row
		}
	}
	all, err := csv.NewReader(strings.NewReader(strings.Join(lines, "\n"))).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("tpch: %s: %w", path, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("tpch: %s is empty, and has not even a header", path)
	}
	return &Answer{Columns: all[0], Rows: all[1:]}, nil
}

// AnswerOf is the rows of a table, which may be released then.
func AnswerOf(t *table.Table) (*Answer, error) {
	a := &Answer{Rows: make([][]string, t.NumRows())}
	records, err := t.ToRecords()
	if err != nil {
		return nil, err
	}
	for _, f := range t.Schema().Fields() {
		a.Columns = append(a.Columns, f.Name)
		a.floats = append(a.floats, f.Type.ID() == arrow.FLOAT64)
	}
	row := 0
	for _, r := range records {
		for i := range int(r.NumRows()) {
			for _, c := range r.Columns() {
				a.Rows[row] = append(a.Rows[row], valueText(c, i))
			}
			row++
		}
		r.Release()
	}
	return a, nil
}

// allNear makes numbers of all columns right that are near: where others compute in floats
// or print decimals otherwise.
func (a *Answer) allNear() {
	a.floats = make([]bool, len(a.Columns))
	for i := range a.floats {
		a.floats[i] = true
	}
}

// valueText is a value as CSV has it: decimals with all digits of their scale.
func valueText(c arrow.Array, i int) string {
	if c.IsNull(i) {
		return ""
	}
	switch c := c.(type) {
	case *array.Decimal128:
		return c.Value(i).ToString(c.DataType().(*arrow.Decimal128Type).Scale)
	case *array.Dictionary:
		return valueText(c.Dictionary(), c.GetValueIndex(i))
	default:
		return strings.Clone(c.ValueStr(i)) // a text is a part of the table's memory
	}
}

// Differs says how an answer is not another, "" where it is: the same columns, and the
// same rows in the same order. Floats that were computed may be a little apart.
func (a *Answer) Differs(want *Answer) string {
	if fmt.Sprint(a.Columns) != fmt.Sprint(want.Columns) {
		return fmt.Sprintf("columns %v, not %v", a.Columns, want.Columns)
	}
	if len(a.Rows) != len(want.Rows) {
		return fmt.Sprintf("%d rows, not %d", len(a.Rows), len(want.Rows))
	}
	for i, row := range a.Rows {
		for c, text := range row {
			if text == want.Rows[i][c] {
				continue
			}
			if c >= len(a.floats) || !a.floats[c] || !near(text, want.Rows[i][c]) {
				return fmt.Sprintf("row %d, column %s: %q, not %q", i, a.Columns[c], text, want.Rows[i][c])
			}
		}
	}
	return ""
}

func near(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}
