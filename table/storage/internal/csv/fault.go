package csv

import "fmt"

// Fault is what is wrong with a text, and where. Fields that do not apply are zero.
type Fault struct {
	Line   int64  // from 1
	Column int    // number of the field, from 1
	Name   string // of the column
	Value  string // the offending text
	Text   string // what is wrong, for people
}

// Error gives the line and the text: who knows the file names it and the column.
func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Text)
}
