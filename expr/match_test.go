package expr

import (
	"strings"
	"testing"
)

// Searches are those of package strings, null where the text is, and as any
// other condition within a bigger one.
func TestMatchInExpressions(t *testing.T) {
	b, s := testBackend(t)
	rows, columns := randomRows(t, b, 2000, 5)
	for text, holds := range map[string]func(s string) bool{
		"contains(s, 'b')":                           func(s string) bool { return strings.Contains(s, "b") },
		"starts_with(s, '')":                         func(string) bool { return true },
		"not ends_with(s, 'c') and contains(s, 'd')": func(s string) bool { return s == "d" },
		"contains('abc', 'b') and contains(s, 'b')":  func(s string) bool { return strings.Contains(s, "b") },
	} {
		got := evalText(t, b, s, text, rowSchema, columns)
		for i, r := range rows {
			if got[i].Valid() != (r.s != nil) || r.s != nil && got[i].Bool() != holds(*r.s) {
				t.Fatalf("row %d: %s is %v", i, text, got[i])
			}
		}
	}
}
