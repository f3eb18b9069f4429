package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// csv reads a text.
func csv(t testing.TB, b *kernels.Backend, text string, o storage.CSVOptions, columns ...string) (*table.Table, string, error) {
	t.Helper()
	path := file(t, "t.csv", []byte(text))
	got, err := storage.ReadCSV(context.Background(), b, path, o, storage.ReadOptions{Columns: columns})
	return got, path, err
}

// rows writes a table's rows as text, to compare.
func rows(t testing.TB, tab *table.Table) string {
	t.Helper()
	var lines []string
	for i := range tab.NumColumns() {
		a := flatten(t, tab, i)
		lines = append(lines, fmt.Sprintf("%s:%s%v", tab.Schema().Field(i).Name, tab.Schema().Field(i).Type, a))
		a.Release()
	}
	return strings.Join(lines, "\n")
}

func TestCSVValues(t *testing.T) {
	decimal := &arrow.Decimal128Type{Precision: 5, Scale: 2}
	cases := []struct {
		name, text string
		options    storage.CSVOptions
		want       string
	}{
		{"plain", "a,b\n1,x\n2,y\n", storage.CSVOptions{}, "a:int64[1 2]\nb:utf8[\"x\" \"y\"]"},
		{"no end of line", "a,b\n1,x\n2,y", storage.CSVOptions{}, "a:int64[1 2]\nb:utf8[\"x\" \"y\"]"},
		{"crlf", "a,b\r\n1,x\r\n2,\"y\"\r\n", storage.CSVOptions{}, "a:int64[1 2]\nb:utf8[\"x\" \"y\"]"},
		{"byte order mark", "\ufeffa,b\n1,x\n", storage.CSVOptions{}, "a:int64[1]\nb:utf8[\"x\"]"},
		{"quotes", "a,b\n\"1\",\"x,\"\"y\"\"\nz\"\n", storage.CSVOptions{}, "a:int64[1]\nb:utf8[\"x,\\\"y\\\"\\nz\"]"},
		{"carriage return inside", "a,b\n1,x\ry\n", storage.CSVOptions{}, "a:int64[1]\nb:utf8[\"x\\ry\"]"},
		{"empty lines", "\na,b\n\n1,x\n\r\n2,y\n\n", storage.CSVOptions{}, "a:int64[1 2]\nb:utf8[\"x\" \"y\"]"},
		{"nulls", "a,b\n,\n2,\"\"\n", storage.CSVOptions{}, "a:int64[(null) 2]\nb:utf8[(null) \"\"]"},
		{"null texts", "a,b\nNA,NA\n2,\n-,\"NA\"\n", storage.CSVOptions{Nulls: []string{"NA", "-"}}, "a:int64[(null) 2 (null)]\nb:utf8[(null) \"\" \"NA\"]"},
		{"one column", "a\n1\n\n3\n", storage.CSVOptions{}, "a:int64[1 (null) 3]"},
		{"semicolons", "a;b\n1,5;x\n", storage.CSVOptions{Delimiter: ';'}, "a:utf8[\"1,5\"]\nb:utf8[\"x\"]"},
		{"no header", "1,x\n2,y\n", storage.CSVOptions{NoHeader: true}, "f0:int64[1 2]\nf1:utf8[\"x\" \"y\"]"},
		{"names", "1,x\n", storage.CSVOptions{NoHeader: true, Names: []string{"n", "s"}}, "n:int64[1]\ns:utf8[\"x\"]"},
		{"other names", "a,b\n1,x\n", storage.CSVOptions{Names: []string{"n", "s"}}, "n:int64[1]\ns:utf8[\"x\"]"},
		{"only a header", "a,b\n", storage.CSVOptions{}, "a:utf8[]\nb:utf8[]"},
		{"guesses", "b,f,d,t,z,c\ntrue,1,2001-02-28,2001-02-28 10:00,2001-02-28T10:00:00+01:00,007\nfalse,2.5e3,2000-02-29,2001-02-28T10:00:00.5,2001-02-28T10:00:00Z,08\n",
			storage.CSVOptions{}, "b:bool[true false]\nf:float64[1 2500]\nd:date32[2001-02-28 2000-02-29]\n" +
				"t:timestamp[us][983354400000000 983354400500000]\nz:timestamp[us, tz=UTC][983350800000000 983354400000000]\nc:utf8[\"007\" \"08\"]"},
		{"times before 1970", "t\n1969-12-31 23:59:59.999999\n0001-01-01\n1600-02-29\n", storage.CSVOptions{},
			"t:timestamp[us][-1 -62135596800000000 -11670998400000000]"},
		{"nothing but words that are floats too", "a\nNaN\ninf\n", storage.CSVOptions{}, "a:utf8[\"NaN\" \"inf\"]"},
		{"types", "a,d,u\n1,-1.5,255\n 2 ,12.30,0\n,999.99,+7\n", storage.CSVOptions{Types: map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Int8, "d": decimal, "u": arrow.PrimitiveTypes.Uint8}},
			"a:int8[1 2 (null)]\nd:decimal(5, 2)[-1.5 12.3 999.99]\nu:uint8[255 0 7]"},
		{"int64 ends", "a\n9223372036854775807\n-9223372036854775808\n", storage.CSVOptions{}, "a:int64[9223372036854775807 -9223372036854775808]"},
		{"past int64", "a\n9223372036854775808\n1\n", storage.CSVOptions{}, "a:float64[9.223372036854776e+18 1]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := csv(t, backend(t), c.text, c.options)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Release()
			if s := rows(t, got); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
		})
	}
}

func TestCSVErrors(t *testing.T) {
	types := func(name string, t arrow.DataType) storage.CSVOptions {
		return storage.CSVOptions{Types: map[string]arrow.DataType{name: t}}
	}
	cases := []struct {
		name, text string
		options    storage.CSVOptions
		line       int64
		column     int
		field      string
		value      string
		says       string
	}{
		{"too few", "a,b,c\n1,2,3\n\n4,5\n", storage.CSVOptions{}, 4, 3, "c", "", "2 of 3 fields"},
		{"too many", "a,b\n1,2\n3,4,5,6\n", storage.CSVOptions{}, 3, 3, "", "5,6", "4 fields, not 2"},
		{"bad number", "a,b\n1,2\n3,\"x\ny\"\n4,5\n", types("b", arrow.PrimitiveTypes.Int64), 3, 2, "b", "x\ny", "is no int64"},
		{"past a guess", "a,b\n" + strings.Repeat("1,2\n", 20_000) + "1,oops\n", storage.CSVOptions{}, 20_002, 2, "b", "oops", `Types["b"]`},
		{"range", "a\n300\n", types("a", arrow.PrimitiveTypes.Uint8), 2, 1, "a", "300", "is no uint8"},
		{"negative", "a\n-1\n", types("a", arrow.PrimitiveTypes.Uint32), 2, 1, "a", "-1", "is no uint32"},
		{"bad date", "a\n2001-02-29\n", types("a", arrow.FixedWidthTypes.Date32), 2, 1, "a", "2001-02-29", "is no date32"},
		{"no offset", "a\n2001-02-28T10:00:00\n", types("a", arrow.FixedWidthTypes.Timestamp_us), 2, 1, "a", "2001-02-28T10:00:00", "is no timestamp"},
		{"lost digits", "a\n1.234\n", types("a", &arrow.Decimal128Type{Precision: 5, Scale: 2}), 2, 1, "a", "1.234", "is no decimal"},
		{"bad bool", "a\nyes\n", types("a", arrow.FixedWidthTypes.Boolean), 2, 1, "a", "yes", "is no bool"},
		{"bad UTF-8", "a,b\n1,ok\n2,\xff\xfe\n", storage.CSVOptions{}, 3, 2, "b", "\xff\xfe", "not UTF-8"},
		{"bad UTF-8 in a name", "a,\xff\n1,2\n", storage.CSVOptions{}, 1, 2, "", "\xff", "not UTF-8"},
		{"unterminated", "a,b\n1,2\n3,\"4\n5,6\n", storage.CSVOptions{}, 3, 2, "b", "\"", "not closed"},
		{"quote inside", "a,b\n1,6\" pipe\n", storage.CSVOptions{}, 2, 2, "b", "6\" pipe", "quote inside"},
		{"after a quote", "a,b\n1,\"x\"y\n", storage.CSVOptions{}, 2, 2, "b", "x", "after the closing quote"},
		{"long record", "a,b\n1,\"" + strings.Repeat("x", 3<<20), storage.CSVOptions{MaxRecord: 1 << 20}, 2, 0, "", "", "MaxRecord"},
		{"UTF-16", "\xff\xfea\x00", storage.CSVOptions{}, 0, 0, "", "", "UTF-16"},
		{"no header", "\n\n", storage.CSVOptions{}, 0, 0, "", "", "no header"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, path, err := csv(t, backend(t), c.text, c.options)
			if err == nil {
				got.Release()
			}
			wantError(t, err, storage.ErrFormat, path, c.says)
			var own *storage.Error
			if !errors.As(err, &own) {
				t.Fatalf("a %T", err)
			}
			if own.Line != c.line || own.Column != c.column || own.Name != c.field || own.Value != c.value {
				t.Errorf("line %d, column %d (%q), %q; should be line %d, column %d (%q), %q", own.Line, own.Column, own.Name, own.Value, c.line, c.column, c.field, c.value)
			}
			if c.line > 0 && !strings.Contains(err.Error(), fmt.Sprintf("line %d", c.line)) {
				t.Errorf("the text does not name the line: %v", err)
			}
		})
	}
}

func TestCSVMismatches(t *testing.T) {
	cases := []struct {
		name, text string
		options    storage.CSVOptions
		kind       error
		says       string
	}{
		{"two of one name", "a,a\n1,2\n", storage.CSVOptions{}, device.ErrMismatch, "2 columns"},
		{"names", "1,2\n", storage.CSVOptions{NoHeader: true, Names: []string{"a"}}, device.ErrMismatch, "2 columns where"},
		{"type of no column", "city\nx\n", storage.CSVOptions{Types: map[string]arrow.DataType{"cty": arrow.BinaryTypes.String}}, device.ErrMismatch, `near it: "city"`},
		{"type", "a\n1\n", storage.CSVOptions{Types: map[string]arrow.DataType{"a": lists}}, device.ErrUnsupported, "list"},
		{"delimiter", "a\n1\n", storage.CSVOptions{Delimiter: '"'}, device.ErrMismatch, "delimiter"},
	}
	for _, c := range cases {
		_, path, err := csv(t, backend(t), c.text, c.options)
		wantError(t, err, c.kind, path, c.says)
	}
	b := backend(t)
	one, two := file(t, "1.csv", []byte("a,b\n1,2\n")), file(t, "2.csv", []byte("a,c\n1,2\n"))
	_, err := storage.Read(context.Background(), b, storage.CSV(storage.CSVOptions{}, one, two), storage.ReadOptions{})
	wantError(t, err, device.ErrMismatch, two, `"c"`)
}

func TestCSVLenient(t *testing.T) {
	var report storage.CSVReport
	b := backend(t)
	text := "a,b\n1,x\n2\n3,y,z\nbad,ok\n4,6\" pipe\n5,\"q\"r\n\n6,\xff\n7,\"multi\nline\"\n8,last\n9,\"open\n10,x\n"
	got, path, err := csv(t, b, text, storage.CSVOptions{Lenient: true, Report: &report, Types: map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Int64}})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if s, want := rows(t, got), "a:int64[1 7 8]\nb:utf8[\"x\" \"multi\\nline\" \"last\"]"; s != want {
		t.Logf("%v", report.Errors())
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
	var lines []int64
	for _, e := range report.Errors() {
		lines = append(lines, e.Line)
		if e.Path != path {
			t.Errorf("an error without its file: %v", e)
		}
	}
	if want := "[3 4 6 7 13 5 9]"; report.Skipped() != 7 || fmt.Sprint(lines) != want {
		t.Errorf("%d records were left out, of lines %v, not %s:\n%v", report.Skipped(), lines, want, report.Errors())
	}
}

// TestCSVBlocks has records, with line ends and quotes in them, across the ends
// of blocks, and checks that order and line numbers survive.
func TestCSVBlocks(t *testing.T) {
	var text strings.Builder
	text.WriteString("n,s\n")
	const n = 120_000
	for i := range n {
		fmt.Fprintf(&text, "%d,\"a \"\"quoted\"\"\n%d\"\n", i, i)
	}
	b := backend(t)
	got, _, err := csv(t, b, text.String(), storage.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.NumRows() != n {
		t.Fatalf("%d rows, not %d", got.NumRows(), n)
	}
	if len(got.Chunks()) < 3 {
		t.Fatalf("%d blocks", len(got.Chunks()))
	}
	numbers, texts := flatten(t, got, 0), flatten(t, got, 1)
	defer numbers.Release()
	defer texts.Release()
	for i := range n {
		if numbers.ValueStr(i) != fmt.Sprint(i) || texts.ValueStr(i) != fmt.Sprintf("a \"quoted\"\n%d", i) {
			t.Fatalf("row %d is %s, %q", i, numbers.ValueStr(i), texts.ValueStr(i))
		}
	}
	text.WriteString("x,y\n")
	_, _, err = csv(t, b, text.String(), storage.CSVOptions{})
	wantError(t, err, storage.ErrFormat, fmt.Sprintf("line %d", 2*n+2))
}

// TestCSVProjection reads one column of a file whose others would not parse.
func TestCSVProjection(t *testing.T) {
	b := backend(t)
	o := storage.CSVOptions{Types: map[string]arrow.DataType{"b": arrow.PrimitiveTypes.Int64}}
	got, _, err := csv(t, b, "a,b,c\n1,x,2\n3,y,4\n", o, "c", "a")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if s, want := rows(t, got), "a:int64[1 3]\nc:int64[2 4]"; s != want {
		t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}
