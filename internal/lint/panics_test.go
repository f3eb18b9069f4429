package lint

import "testing"

func TestPanics(t *testing.T) {
	tree := load(t, map[string]string{
		"a/a.go": `package a

type list[T any] struct{}

func Exported() { panic("no") }

func (l *list[T]) get() { func() { (panic)("no") }() }

func allowed() { panic("yes") }

func unreasoned() { panic("hm") }

func calm() {}

var v = func() int { panic("no") }
`,
		"a/a_test.go": "package a\n\nfunc f() { panic(1) }\n",
	})
	table := []Panic{
		{"a/a.go", "allowed", "the caller recovers"},
		{"a/a.go", "unreasoned", ""},
		{"a/a.go", "calm", "it once did"},
	}
	expect(t, panicsAgainst(tree, table),
		"a/a.go: unreasoned: its row in the table Panics has no reason",
		"a/a.go: calm does not panic",
		"a/a.go:5: panic in Exported",
		"a/a.go:7: panic in list.get",
		"a/a.go:15: panic in a package variable",
	)
}
