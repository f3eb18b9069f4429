package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Grid is a small table of text, printed on a terminal or in a page.
type Grid struct {
	Title  string     // printed above; may be empty
	Header []string   // one name per column
	Rows   [][]string // each as long as Header; an empty string prints as nothing
	Left   []bool     // columns set to the left; a column beyond its end is numeric, set to the right
	Note   string     // printed below; may be empty
}

// Add appends a row of cells. A row shorter than the header is filled with
// empty cells when it is printed.
func (g *Grid) Add(cells ...string) { g.Rows = append(g.Rows, cells) }

// IsLeft reports whether column i is text, set to the left.
func (g Grid) IsLeft(i int) bool { return i < len(g.Left) && g.Left[i] }

// WriteText prints the grid with aligned columns, two spaces apart, a line of
// dashes under the header, and no space at the end of a line. Widths count
// runes. A row longer than the header is an error; nothing is written then.
func (g *Grid) WriteText(w io.Writer) error {
	width := make([]int, len(g.Header))
	for i, h := range g.Header {
		width[i] = utf8.RuneCountInString(h)
	}
	for n, row := range g.Rows {
		if len(row) > len(g.Header) {
			return fmt.Errorf("report: grid %q: row %d has %d cells, the header %d", g.Title, n, len(row), len(g.Header))
		}
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(oneLine(c)))
		}
	}
	var b strings.Builder
	if g.Title != "" {
		fmt.Fprintln(&b, g.Title)
	}
	rule := make([]string, len(width))
	for i, n := range width {
		rule[i] = strings.Repeat("-", n)
	}
	for _, row := range append([][]string{g.Header, rule}, g.Rows...) {
		g.line(&b, row, width)
	}
	if g.Note != "" {
		fmt.Fprintln(&b, g.Note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *Grid) line(b *strings.Builder, row []string, width []int) {
	var l strings.Builder
	for i, c := range row {
		c = oneLine(c)
		if i > 0 {
			l.WriteString("  ")
		}
		pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
		if g.IsLeft(i) {
			l.WriteString(c + pad)
		} else {
			l.WriteString(pad + c)
		}
	}
	fmt.Fprintln(b, strings.TrimRight(l.String(), " "))
}

// oneLine replaces what would break a line or move a terminal's cursor, since
// names of devices and files come from outside.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
