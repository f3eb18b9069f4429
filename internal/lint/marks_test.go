package lint

import "testing"

func TestMarks(t *testing.T) {
	do, fix, three := "TO"+"DO", "FIX"+"ME", "XX"+"X"
	tree := load(t, map[string]string{
		"a/a.go":       "package a\n\n// " + do + ": later\n",
		"a/b.cl":       "/* " + three + " */\n",
		"README.md":    "fine\n\n" + fix + "\n",
		"scripts/a.sh": "mktemp -d x." + three + three + "\n",
		"a/c.go":       "package a\n\nvar " + do + "s int\n",
	})
	expect(t, checkMarks(tree), "README.md:3: "+fix, "a/a.go:3: "+do, "a/b.cl:1: "+three)
}
