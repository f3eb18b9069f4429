package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestGridText(t *testing.T) {
	g := Grid{Title: "Title", Header: []string{"name", "value"}, Left: []bool{true}, Note: "note"}
	g.Add("filter", "1")
	g.Add("é", "12345678")
	g.Add("a\x1b[2Jb\nc")
	var b bytes.Buffer
	if err := g.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `Title
name         value
--------  --------
filter           1
é         12345678
a [2Jb c
note
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	g.Add("a", "b", "c")
	if err := g.WriteText(&b); err == nil || b.Len() > 0 {
		t.Errorf("a row that is too long: error %v, wrote %q", err, b.String())
	}
}

func TestSteps(t *testing.T) {
	r := sample()
	r[1].OK = Of(false)
	g := Steps("Steps", r[:2])
	var b bytes.Buffer
	if err := g.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `Steps
op           engine     version  device       rows  threads  runs   median      min  rows/s     bytes  GB/s  of limit  peak memory  answer
-----------  ---------  -------  ------  ---------  -------  ----  -------  -------  ------  --------  ----  --------  -----------  ------
query: read  volley     v0.1.0   cpu     1,000,000        2     3  34.1 ms  31.0 ms  29.3 M  45.8 MiB  1.41     0.3 %      120 MiB  right
query: read  reference  v0.1.0   cpu     1,000,000        2     3   136 ms   124 ms  7.33 M  45.8 MiB  0.35     0.1 %      120 MiB  WRONG
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if g := Steps("", r); g.Header[0] != "suite" {
		t.Errorf("records of two suites do not show the suite: %q", g.Header)
	}
	if g := Steps("", []Record{{Suite: "s", Op: "x"}}); strings.Join(g.Header, " ") != "op" {
		t.Errorf("empty columns stayed: %q", g.Header)
	}
}

func TestHuman(t *testing.T) {
	for got, want := range map[string]string{
		Bytes(0):             "0 B",
		Bytes(1023):          "1023 B",
		Bytes(1024):          "1.00 KiB",
		Bytes(1<<20 - 1):     "1.00 MiB",
		Bytes(-3 << 30):      "-3.00 GiB",
		Bytes(1<<63 - 1):     "8.00 EiB",
		Seconds(0):           "0 s",
		Seconds(9.996e-7):    "1.00 µs",
		Seconds(1.234e-8):    "12.3 ns",
		Seconds(0.0999):      "99.9 ms",
		Seconds(0.9996):      "1.00 s",
		Seconds(123.4):       "123 s",
		Rate(0):              "0.00",
		Rate(999.6):          "1.00 k",
		Rate(12_345_678):     "12.3 M",
		Rate(5e15):           "5000 T",
		Count(0):             "0",
		Count(999):           "999",
		Count(-1000):         "-1,000",
		Count(543872):        "543,872",
		Count(-1 << 63):      "-9,223,372,036,854,775,808",
		Seconds(0.000_99951): "1.00 ms",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
