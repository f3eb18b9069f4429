package lint

import "testing"

func TestDocs(t *testing.T) {
	tree := load(t, map[string]string{
		"a/bare.go": `// Package a has a comment.
package a

type Bare struct{ Field int }

func Loose() {}

func (b *Bare) Method() {}

func (b Bare[T]) Generic() {}

const Lone = 1

var one, Two int

type (
	Grouped int
)
`,
		"a/good.go": `package a

// Point is documented.
type Point struct{ X, Y int }

// The Line is documented after an article.
type Line struct{}

// Abs returns something.
func (p *Point) Abs() int { return p.X }

// Kinds of thing; the comment of the group counts.
const (
	First = iota
	Second
)

const (
	Third = 3 // Third has a comment beside it.
)

// Shape is an interface.
type Shape interface {
	// Area returns the area.
	Area() float64
	Name() string
	hidden()
}

type hidden struct{}

func (hidden) Exported() {}

func unexported() {}
`,
		"a/wrong.go": `package a

// Returns the answer.
func Answer() int { return 42 }

//go:noinline
func Directive() {}

// A
type B struct{}
`,
		"a/a_test.go": "package a\n\nfunc Helper() {}\n",
		"b/b.go":      "package b\n",
		"c/a.go":      "package main\n\nfunc Main() {}\n",
		"c/doc.go":    "// Command c does something.\npackage main\n",
	})
	expect(t, checkDocs(tree),
		"a/bare.go:4: type Bare has no doc comment",
		"a/bare.go:6: function Loose has no doc comment",
		"a/bare.go:8: function Method has no doc comment",
		"a/bare.go:10: function Generic has no doc comment",
		"a/bare.go:12: exported Lone has no comment",
		"a/bare.go:14: exported Two has no comment",
		"a/bare.go:17: type Grouped has no doc comment",
		"a/good.go:26: interface method Name has no comment",
		"a/wrong.go:3: function Answer does not begin with its name",
		"a/wrong.go:7: function Directive has no doc comment",
		"a/wrong.go:9: type B does not begin with its name",
		"b/b.go:1: package b has no package comment",
	)
}
