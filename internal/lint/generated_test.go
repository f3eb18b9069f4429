package lint

import (
	"strings"
	"testing"
)

func TestGenerated(t *testing.T) {
	mark := string(markStart)
	tree := load(t, map[string]string{
		"a/avo_amd64.s":  mark + " by command: go run add.go -out add_amd64.s -stubs add.go. DO NOT EDIT.\n",
		"a/good.go":      "//go:build amd64\n\n" + mark + " by go run ./gen; DO NOT EDIT.\n\npackage a\n",
		"a/made.py":      string(scriptMarkStart) + " by go run ./gen; DO NOT EDIT.\n" + strings.Repeat("x = 1\n", maxLines+1),
		"a/half.py":      string(scriptMarkStart) + ".\n",
		"a/nobody.go":    mark + " by magic. DO NOT EDIT.\n\npackage a\n",
		"a/bare.go":      mark + " by go. DO NOT EDIT.\n\npackage a\n",
		"a/unended.go":   mark + " by go run ./gen.\n\npackage a\n",
		"a/late.go":      "package a\n\n" + mark + " by go run ./gen. DO NOT EDIT.\n",
		"a/anonymous.go": mark + " DO NOT EDIT.\n\npackage a\n",
		"a/plain.go":     "package a\n\nvar s = \"" + mark + "\"\n",
	})
	expect(t, checkGenerated(tree),
		"a/anonymous.go:1: malformed mark",
		"a/bare.go:1: malformed mark",
		"a/half.py:1: malformed mark",
		"a/late.go:3: before the package clause",
		"a/nobody.go:1: malformed mark",
		"a/unended.go:1: malformed mark",
	)
	if found := checkLength(tree); len(found) > 0 {
		t.Errorf("a generated file is as long as it is: %v", found)
	}
}
