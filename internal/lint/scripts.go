package lint

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// sharedTestNames are tests that a list of a script may name although several packages have one of that name: the list is meant for all of them.
var sharedTestNames = map[string]string{
	"TestOnRemoteDevice": "all tests of a package once more on a pretended device, in every package that has tables",
}

var (
	// testList is an array of a shell script: name=( … ) over several lines.
	testList = regexp.MustCompile(`(?s)\n\w+=\((.*?)\)\n`)
	testName = regexp.MustCompile(`(\^?)\b((?:Test|Fuzz|Example)[A-Z]\w*)(\$?)`)
	remark   = regexp.MustCompile(`(?m)(^|\s)#.*$`)
)

// checkScripts finds tests that scripts name and that are not there: `go test -run` passes when it finds nothing, and -skip then runs what was to be
// left out. A name with ^ before it and no $ behind may be the beginning of names. Names in lists go to -skip of many packages at once, so each must
// be that of one package.
func checkScripts(t *Tree) []Finding {
	packages := testPackages(t)
	var found []Finding
	for _, f := range t.Files {
		if path.Dir(f.Path) != "scripts" || path.Ext(f.Path) != ".sh" {
			continue
		}
		text := remark.ReplaceAllString(string(f.Source), "")
		lists := testList.FindAllStringSubmatchIndex(text, -1)
		for _, m := range testName.FindAllStringSubmatchIndex(text, -1) {
			name, begins := text[m[4]:m[5]], m[3] > m[2] && m[7] == m[6]
			inList := slices.ContainsFunc(lists, func(l []int) bool { return l[2] <= m[0] && m[1] <= l[3] })
			if what := wrongTestName(packages, name, begins, inList); what != "" {
				found = append(found, Finding{f.Path, 1 + strings.Count(text[:m[0]], "\n"), what})
			}
		}
	}
	return found
}

// wrongTestName returns how a name in a script is not one of the tests', or "".
func wrongTestName(packages map[string][]string, name string, begins, inList bool) string {
	in := packages[name]
	switch {
	case len(in) == 0 && begins:
		for other := range packages {
			if strings.HasPrefix(other, name) {
				return ""
			}
		}
		return "no test's name begins with " + name
	case len(in) == 0:
		return "there is no test " + name
	case inList && len(in) > 1 && sharedTestNames[name] == "":
		return fmt.Sprintf("%s is a test of %s: the list leaves out all of them. Rename one, or give it a row in internal/lint/scripts.go", name, strings.Join(in, " and "))
	}
	return ""
}

// testPackages returns the folders that have a test, by its name.
func testPackages(t *Tree) map[string][]string {
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	packages := make(map[string][]string)
	for _, f := range t.Files {
		if !f.Test || path.Ext(f.Path) != ".go" {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(string(f.Source), -1) {
			if folder := path.Dir(f.Path); !slices.Contains(packages[m[1]], folder) {
				packages[m[1]] = append(packages[m[1]], folder)
			}
		}
	}
	return packages
}
