package lint

import "testing"

func TestExits(t *testing.T) {
	bad := "import (\n\t\"log\"\n\t\"os\"\n)\n\nfunc f() {\n\tlog.Fatalf(\"x\")\n\tlog.Panicln(1)\n\tlog.Print(2)\n\tos.Exit(1)\n}\n"
	tree := load(t, map[string]string{
		"table/a.go":      "package table\n\n" + bad,
		"table/b.go":      "package table\n\nimport sys \"os\"\n\nvar end = sys.Exit\n",
		"table/c.go":      "package table\n\ntype t struct{ Exit func() }\n\nfunc g(os t) { os.Exit() }\n",
		"table/a_test.go": "package table\n\n" + bad,
		"cmd/volley/a.go": "package main\n\n" + bad,
		"cmd/volley/b.go": "package lib\n\nimport \"os\"\n\nfunc f() { os.Exit(1) }\n",
		"bench/main.go":   "package main\n\nimport \"os\"\n\nfunc main() { os.Exit(1) }\n",
	})
	expect(t, checkExits(tree),
		"bench/main.go:5: os.Exit in a library",
		"cmd/volley/b.go:5: os.Exit in a library",
		"table/a.go:9: log.Fatalf in a library",
		"table/a.go:10: log.Panicln in a library",
		"table/a.go:12: os.Exit in a library",
		"table/b.go:5: os.Exit in a library",
	)
}
