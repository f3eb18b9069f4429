package backends

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Again runs all tests of the test's package once more, in a process of its
// own, with the named backend. In such a process it does nothing. Of the flags of
// the run, -test.short, -test.skip and -test.timeout are handed on; under the race detector
// it is always a short run.
func Again(t *testing.T, name string) {
	t.Helper()
	if os.Getenv(variable) != "" {
		return
	}
	// Not the tests that call Again: those of the package that are named so.
	skip := "^" + regexp.QuoteMeta(t.Name()) + "$"
	if v := flag.Lookup("test.skip"); v != nil && v.Value.String() != "" {
		skip += "|" + v.Value.String()
	}
	args := []string{"-test.skip=" + skip}
	for _, f := range []string{"test.short", "test.timeout"} {
		if v := flag.Lookup(f); v != nil {
			args = append(args, "-"+f+"="+v.Value.String())
		}
	}
	if RaceDetector {
		args = append(args, "-test.short") // the run in the test's own process has the long cases
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, args...)
	c.Env = append(os.Environ(), variable+"="+name)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("on %s: %v\n%s", name, err, strings.TrimSpace(string(out)))
	}
}
