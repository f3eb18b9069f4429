package lint

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinks(t *testing.T) {
	tree := load(t, map[string]string{
		"README.md": "[a](docs/a.md) [b](docs/b.md#c) ![p](docs/p.svg)\n[web](https://x.org/y) <img src=\"docs/no.png\">\n```\n[code](nowhere.md)\n```\n[here](#two-words) [folder](docs)\n# Two `words`!\n",
		"docs/a.md": "[up](../README.md) [gone](../gone.md) [top](#none) [d](testdata/x.csv#h)\n",
		"docs/b.md": "## C\n",

		"docs/p.svg":          "<svg/>",
		"docs/testdata/x.csv": "1\n",
	})
	expect(t, checkLinks(tree),
		"README.md:2: there is no docs/no.png",
		"docs/a.md:1: there is no gone.md",
		"docs/a.md:1: docs/a.md has no such heading",
		"docs/a.md:1: docs/testdata/x.csv has no headings",
	)
}

func TestHeadings(t *testing.T) {
	text := "# One race of `sort_two`\n#No heading\n```\n# comment\n```\n### Two ranks, Intel: what bounds them\n"
	require.Equal(t, []string{"one-race-of-sort_two", "two-ranks-intel-what-bounds-them"}, headings(text))
}

func TestPages(t *testing.T) {
	picture := "# Task\n![p](p.svg)\n"
	tree := load(t, map[string]string{
		"README.md":           strings.Repeat("x\n", readmeLines+1),
		"docs/guide/good.md":  picture + strings.Repeat("x\n", guideLeast),
		"docs/guide/long.md":  picture + strings.Repeat("x\n", guideMost),
		"docs/guide/short.md": picture,
		"docs/guide/plain.md": strings.Repeat("x\n", guideLeast),
		"docs/decisions/a.md": strings.Repeat("word ", decisionsWords+1),
		"docs/decisions/b.md": strings.Repeat("word ", decisionsWords),
		"docs/performance.md": strings.Repeat("x\n", 1000),
	})
	expect(t, checkPages(tree),
		"README.md: 121 lines, at most 120",
		"docs/decisions/a.md: 301 words",
		"docs/guide/long.md: 152 lines",
		"docs/guide/plain.md: a page of the guide has a picture",
		"docs/guide/short.md: 2 lines",
	)
}
