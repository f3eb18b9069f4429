package lint

import "testing"

func TestWords(t *testing.T) {
	tree := load(t, map[string]string{
		"README.md":           "None of them.\n```\nnone of it\n```\nCome together.\n",
		"docs/guide/a.md":     "The sum, of which a part\nit comes to 3\n",
		"docs/reference/b.md": "a rank is told\n",
		"docs/performance.md": "of which\n",
		"python/README.md":    "none of\n",
	})
	expect(t, checkWords(tree),
		`README.md:1: "None of"`,
		`docs/guide/a.md:1: "of which"`,
		`docs/guide/a.md:2: "comes to"`,
		`docs/reference/b.md:1: "is told"`,
	)
}
