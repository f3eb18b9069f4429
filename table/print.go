package table

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// Format says how a table is printed. The zero value is that of String.
type Format struct {
	Head  int  // rows from the start; 0 is 10, negative none
	Tail  int  // rows from the end, after a line of dots
	Width int  // cells of the terminal that a line may take; 0 is 120, negative without bound
	Cell  int  // cells that one value may take, unless it is a number; 0 is 32
	Types bool // a line of types below the names
	Plain bool // ASCII only: "..." for "…"
}

// String shows the first ten rows with names and types, aligned, and the number
// of rows and columns; of a device that fails, that failure.
func (t *Table) String() string {
	var b strings.Builder
	if err := t.Print(&b, Format{Types: true}); err != nil { // a Builder does not fail
		return err.Error()
	}
	return b.String()
}

// Print writes the table as text. Numbers stand to the right. Values that are
// too long, and columns that do not fit, are cut off with dots. Control
// characters are shown as Go escapes them. From another device than the host the
// rows that are shown are copied.
func (t *Table) Print(w io.Writer, f Format) error {
	f = f.filled()
	rows, gap := f.rows(t.rows)
	host, err := t.rowsOnHost(context.Background(), rows)
	if err != nil {
		return err
	}
	defer host.Release()
	if host.rows != t.rows { // just those
		for i := range rows {
			rows[i] = int64(i)
		}
	}
	var b strings.Builder
	columns := f.layout(host, rows)
	for line := range len(rows) + 1 + f.typeLine() {
		for i, c := range columns {
			if i > 0 {
				b.WriteString("  ")
			}
			c.write(&b, line, i == len(columns)-1)
		}
		b.WriteByte('\n')
		if gap > 0 && line == gap+f.typeLine() {
			b.WriteString(f.dots() + "\n")
		}
	}
	cross := "×"
	if f.Plain {
		cross = "x"
	}
	fmt.Fprintf(&b, "%d rows %s %d columns\n", t.rows, cross, t.NumColumns())
	_, err = io.WriteString(w, b.String())
	return err
}

func (f Format) filled() Format {
	if f.Head == 0 {
		f.Head = 10
	}
	if f.Width == 0 {
		f.Width = 120
	}
	if f.Cell <= 0 {
		f.Cell = 32
	}
	f.Head, f.Tail, f.Cell = max(f.Head, 0), max(f.Tail, 0), max(f.Cell, 4)
	return f
}

func (f Format) typeLine() int {
	if f.Types {
		return 1
	}
	return 0
}

func (f Format) dots() string {
	if f.Plain {
		return "..."
	}
	return "…"
}

// rows are the rows to show, and after how many of them some are left out; 0
// for none.
func (f Format) rows(n int64) ([]int64, int) {
	var rows []int64
	for i := int64(0); i < min(n, int64(f.Head)); i++ {
		rows = append(rows, i)
	}
	gap := 0
	if from := n - int64(f.Tail); from > int64(len(rows)) && f.Tail > 0 {
		gap = len(rows)
	}
	for i := max(int64(len(rows)), n-int64(f.Tail)); f.Tail > 0 && i < n; i++ {
		rows = append(rows, i)
	}
	return rows, gap
}

// printed is a column as text: its name, its type if asked for, its values.
type printed struct {
	lines []string
	width int
	right bool
}

func (c printed) write(b *strings.Builder, line int, last bool) {
	space := strings.Repeat(" ", c.width-cells(c.lines[line]))
	if c.right {
		b.WriteString(space)
	}
	b.WriteString(c.lines[line])
	if !c.right && !last {
		b.WriteString(space)
	}
}

// layout makes the columns that fit, and one of dots for those that do not.
func (f Format) layout(t *Table, rows []int64) []printed {
	var out []printed
	used := 0
	for i, field := range t.schema.Fields() {
		c := printed{right: (kernels.NumberTypes | kernels.DecimalTypes).Has(field.Type.ID())}
		c.lines = append(c.lines, f.cut(field.Name))
		if f.Types {
			c.lines = append(c.lines, f.cut(expr.TypeName(field.Type)))
		}
		for _, r := range rows {
			text := valueText(t.at(r, i))
			if !c.right { // half a number would be a wrong one
				text = f.cut(text)
			}
			c.lines = append(c.lines, text)
		}
		for _, l := range c.lines {
			c.width = max(c.width, cells(l))
		}
		rest := 0
		if i < t.NumColumns()-1 {
			rest = 2 + cells(f.dots())
		}
		if f.Width > 0 && i > 0 && used+2+c.width+rest > f.Width {
			dots := printed{width: cells(f.dots())}
			for range c.lines {
				dots.lines = append(dots.lines, f.dots())
			}
			return append(out, dots)
		}
		used += 2 + c.width
		out = append(out, c)
	}
	return out
}

// cut shortens a text to the cells that one value may take.
func (f Format) cut(s string) string {
	s = escaped(s)
	if cells(s) <= f.Cell {
		return s
	}
	room, at := f.Cell-cells(f.dots()), 0
	for i, r := range s {
		if room -= runeCells(r); room < 0 {
			break
		}
		at = i + utf8.RuneLen(r)
	}
	return s[:at] + f.dots()
}

// escaped shows what would break a line, or a terminal, as Go escapes it.
func escaped(s string) string {
	clean := utf8.ValidString(s)
	for _, r := range s {
		clean = clean && unicode.IsPrint(r)
	}
	if clean {
		return s
	}
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}

// valueText is a value as people read it: strings without quotes.
func valueText(v kernels.Scalar) string {
	id := v.Type().ID()
	switch {
	case !v.Valid():
		return "null"
	case id == arrow.STRING || id == arrow.LARGE_STRING:
		return v.Text()
	case kernels.FloatTypes.Has(id):
		return floatText(v.Float64(), id)
	default:
		return v.String()
	}
}

// floatText has six digits that count, and a point or an exponent.
func floatText(f float64, id arrow.Type) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	bits := 64
	if id == arrow.FLOAT32 {
		bits = 32
	}
	s := strconv.FormatFloat(f, 'g', 6, bits)
	if math.Abs(f) >= 1e5 && math.Abs(f) < 1e15 {
		s = strconv.FormatFloat(f, 'f', 1, bits)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// cells is the width of a text on a terminal.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeCells(r)
	}
	return n
}

// runeCells is 0 for marks that combine with the letter before, 2 for the wide
// letters of East Asia and for emoji, 1 for others.
func runeCells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r == 0x2329 || r == 0x232a || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f ||
		r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
		r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1f64f ||
		r >= 0x1f900 && r <= 0x1f9ff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	default:
		return 1
	}
}
