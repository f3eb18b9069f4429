package main

import (
	"fmt"
	"strings"
	"testing"
)

// Each line is answered, with one and the same table.
func TestServe(t *testing.T) {
	var out strings.Builder
	if err := serve("../../testdata/flights", strings.NewReader("1\n2\n"), &out); err != nil {
		t.Fatal(err)
	}
	var took, rows, total, again, rows2, total2 int64
	if _, err := fmt.Sscan(out.String(), &took, &rows, &total, &again, &rows2, &total2); err != nil {
		t.Fatalf("%v: %q", err, out.String())
	}
	if took <= 0 || again <= 0 || rows != rows2 || total != total2 || rows < 1000 || total < 100_000 || total > 1_000_000 {
		t.Errorf("%q", out.String())
	}
	if err := serve("none", strings.NewReader("1\n"), &out); err == nil {
		t.Error("a folder that is not there is no error")
	}
}
