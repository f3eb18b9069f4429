package lint

import "testing"

func TestFormat(t *testing.T) {
	tree := load(t, map[string]string{
		"a/good.go":   "package a\n\nfunc f() {}\n",
		"a/spaces.go": "package a\n\nfunc f( ) {}\n",
		"a/end.go":    "package a\n\nfunc g() {}",
	})
	expect(t, checkFormat(tree), "a/end.go:3: gofmt", "a/spaces.go:3: gofmt")
}
