package lint

import "testing"

func TestCheckScripts(t *testing.T) {
	tree := load(t, map[string]string{
		"table/a_test.go": "package table\nimport \"testing\"\nfunc TestJoin(t *testing.T) {}\nfunc TestBoth(t *testing.T) {}\nfunc TestOnRemoteDevice(t *testing.T) {}\n",
		"expr/a_test.go":  "package expr\nimport \"testing\"\nfunc TestBoth(t *testing.T) {}\nfunc TestOnRemoteDevice(t *testing.T) {}\n",
		"scripts/a.sh": "# TestGone in a comment\nlist=(\n\tTestJoin TestBoth # TestGone\n\tTestGone TestOnRemoteDevice\n)\n" +
			"go test -run '^TestJo|^TestJo$|^(TestJoin|TestJoi)$|^TestGo' ./table\ngo test -skip '^TestBoth$' ./expr\n",
		"other/a.sh": "go test -run TestGone\n",
	})
	expect(t, checkScripts(tree),
		"scripts/a.sh:3: TestBoth is a test of expr and table",
		"scripts/a.sh:4: there is no test TestGone",
		"scripts/a.sh:6: there is no test TestJo",
		"scripts/a.sh:6: there is no test TestJoi",
		"scripts/a.sh:6: no test's name begins with TestGo",
	)
}
