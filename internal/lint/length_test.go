package lint

import (
	"strings"
	"testing"
)

func TestLength(t *testing.T) {
	lines := func(first string, n int) string { return first + strings.Repeat("\n", n) }
	mark := string(markStart) + " by go run gen.go. DO NOT EDIT.\n"
	tree := load(t, map[string]string{
		"a/fits.go":         lines("package a", maxLines),
		"a/long.go":         lines("package a", maxLines+1),
		"a/fits_test.go":    lines("package a", maxTestLines),
		"a/long_test.go":    lines("package a", maxTestLines+1),
		"a/generated.go":    lines(mark+"package a", maxLines),
		"a/long.cl":         lines("kernel", maxLines+1),
		"a/text.md":         lines("text", maxTestLines+1),
		"py/test_long.py":   lines("x", maxTestLines+1),
		"py/test_fits.py":   lines("x", maxTestLines),
		"scripts/long.sh":   lines("x", maxLines+1),
		"scripts/module.md": lines("x", maxLines+1),
	})
	expect(t, checkLength(tree),
		"a/long.cl:601: 601 lines, the limit is 600",
		"a/long.go:601: 601 lines, the limit is 600",
		"a/long_test.go:801: 801 lines, the limit is 800",
		"py/test_long.py:801: 801 lines, the limit is 800",
		"scripts/long.sh:601: 601 lines, the limit is 600",
	)
}

func TestMeasureLengths(t *testing.T) {
	tree := load(t, map[string]string{
		"a/1.go":      "package a\n",
		"a/2.go":      "package a\n\n\n",
		"a/3.go":      "package a\n\n\n\n\n\n\n",
		"a/4_test.go": "package a\n\n",
		"a/5.go":      string(markStart) + " by go run gen.go. DO NOT EDIT.\npackage a\n" + strings.Repeat("\n", 99),
		"a/6.md":      strings.Repeat("\n", 99),
	})
	if got, want := MeasureLengths(tree, false), (Lengths{3, 3, 7, 7, "a/3.go"}); got != want {
		t.Errorf("code: %+v, want %+v", got, want)
	}
	if got, want := MeasureLengths(tree, true), (Lengths{1, 2, 2, 2, "a/4_test.go"}); got != want {
		t.Errorf("tests: %+v, want %+v", got, want)
	}
	if got := MeasureLengths(load(t, map[string]string{"a.md": ""}), false); got != (Lengths{}) {
		t.Errorf("no Go files: %+v", got)
	}
}
