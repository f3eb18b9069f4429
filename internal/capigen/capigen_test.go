package main

import (
	"strings"
	"testing"
)

// TestFilesFollowFromTheHeader holds the generated files and the recorded signatures against the header: a signature that changes without a
// version, or files that were not made again, fail.
func TestFilesFollowFromTheHeader(t *testing.T) {
	if err := run("../..", true); err != nil {
		t.Fatal(err)
	}
}

func headerText(t *testing.T) string {
	t.Helper()
	text, err := readHeader("../../cgo/include")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func signaturesOf(t *testing.T, text string) string {
	t.Helper()
	h, err := parseHeader(text)
	if err != nil {
		t.Fatal(err)
	}
	return signatures(h)
}

func TestChangesWantAVersion(t *testing.T) {
	text := headerText(t)
	recorded := signaturesOf(t, text)
	h, err := parseHeader(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.functions) < 90 || len(h.structs) < 10 || len(h.handles) < 9 {
		t.Fatalf("%d functions, %d structures, %d handles: the header is not understood", len(h.functions), len(h.structs), len(h.handles))
	}
	major := strings.NewReplacer("VOLLEY_ABI_MAJOR "+h.major, "VOLLEY_ABI_MAJOR 99")
	minor := strings.NewReplacer("VOLLEY_ABI_MINOR "+h.minor, "VOLLEY_ABI_MINOR 99")
	const added = "VOLLEY_API int32_t volley_added(int64_t* out);\n\n#ifdef __cplusplus\n}"
	for _, c := range []struct {
		what, from, to    string
		withMinor, withIt bool // whether another MINOR allows it, and whether nothing else is wanted
	}{
		{"a parameter of another type", "volley_table_rows(const volley_table* table, int64_t* out)", "volley_table_rows(const volley_table* table, int32_t* out)", false, false},
		{"a function that is gone", "VOLLEY_API int32_t volley_live(int64_t* out);", "", false, false},
		{"another value", "VOLLEY_CLOSED = -4", "VOLLEY_CLOSED = -40", false, false},
		{"a field between others", "int64_t nulls_equal;", "int64_t between; int64_t nulls_equal;", false, false},
		{"a function more", "#ifdef __cplusplus\n}", added, true, false},
		{"a field more at the end", "const volley_expr* where;", "const volley_expr* where; int64_t more;", true, false},
		{"a comment", "/* ---- tables ---- */", "/* about tables */", true, true},
	} {
		if !strings.Contains(text, c.from) {
			t.Fatalf("%s: the header has no %q", c.what, c.from)
		}
		changed := strings.Replace(text, c.from, c.to, 1)
		if err := allowed(recorded, signaturesOf(t, changed)); (err == nil) != c.withIt {
			t.Errorf("%s without a version: %v", c.what, err)
		}
		if err := allowed(recorded, signaturesOf(t, minor.Replace(changed))); (err == nil) != c.withMinor {
			t.Errorf("%s with another MINOR: %v", c.what, err)
		}
		if err := allowed(recorded, signaturesOf(t, major.Replace(changed))); err != nil {
			t.Errorf("%s with another MAJOR: %v", c.what, err)
		}
	}
}

func TestWhatIsNotUnderstoodIsAnError(t *testing.T) {
	text := headerText(t)
	for _, bad := range []string{
		strings.Replace(text, "#define VOLLEY_ABI_MAJOR", "#define VOLLEY_MAJOR", 1),
		strings.Replace(text, "volley_live(int64_t* out)", "volley_live(int64_t)", 1),
		strings.Replace(text, "VOLLEY_API int32_t volley_live(int64_t* out);", "VOLLEY_API int32_t lively(int64_t* out);", 1),
	} {
		if _, err := parseHeader(bad); err == nil {
			t.Error("a header that is malformed was read")
		}
	}
}
