package lint

import "testing"

func TestBenchmarks(t *testing.T) {
	tree := load(t, map[string]string{
		"a/a_test.go": `package a

import (
	"fmt"
	"testing"
)

func BenchmarkA(b *testing.B) {
	run := func(b *testing.B) {}
	b.Run("Sum/dev="+name, func(b *testing.B) {})
	b.Run(fmt.Sprintf("width=%d/%s", 1, "x"), func(b *testing.B) {})
	b.Run(name+"/dev=cpu", func(b *testing.B) {})
	b.Run(fmt.Sprintf("width=%d/way=%s", 1, "x"), func(b *testing.B) {})
	b.Run(fmt.Sprint("rows=", 7), func(b *testing.B) {})
	b.Run("op="+name+"/type=f32", func(b *testing.B) {})
	b.Run(name, func(b *testing.B) {})
	b.Run("sum", run)
}

func TestA(t *testing.T) { t.Run("sum", func(t *testing.T) {}) }
`,
	})
	expect(t, checkBenchmarks(tree), `a/a_test.go:10: part "Sum"`, `a/a_test.go:11: part "?"`, `a/a_test.go:12: part "?"`)
}
