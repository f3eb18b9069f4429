package lint

import "testing"

func TestSkips(t *testing.T) {
	tree := load(t, map[string]string{
		"a/a_test.go": `package a

import "testing"

func TestA(t *testing.T) {
	t.Skip("no")
	t.Run("b", func(sub *testing.T) { sub.SkipNow() })
}

func FuzzA(f *testing.F) { f.Skipf("%d", 1) }
`,
		"a/kit.go":    "package a\n\nimport \"testing\"\n\nfunc help(tb testing.TB) { tb.Skip() }\n",
		"a/reader.go": "package a\n\ntype r struct{}\n\nfunc (r) Skip() {}\n\nfunc use(t r) { t.Skip() }\n",
	})
	expect(t, checkSkips(tree), "a/a_test.go:6: t.Skip", "a/a_test.go:7: sub.SkipNow", "a/a_test.go:10: f.Skipf", "a/kit.go:5: tb.Skip")
}
