package storage_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table/storage"
)

// TestCSVKinds reads what other programs write and ours does not.
func TestCSVKinds(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	long := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct {
		text  string
		o     storage.CSVOptions
		types string
		want  map[string][]string
	}{
		"a first record of megabytes": {"n,text\n1," + long + "\n2,y\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"n": {"[1]", "[2]"}}},
		"a later record of megabytes": {"n,text\n1,y\n2," + long + "\n3,y\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"n": {"[1]", "[2]", "[3]"}}},
		"a header of megabytes":       {long + ",n\n1,2\n", storage.CSVOptions{}, "int64 int64", map[string][]string{"n": {"[2]"}}},

		"carriage returns":                    {"a,b\r1,x\r2,y\r", storage.CSVOptions{}, "int64 utf8", map[string][]string{"a": {"[1]", "[2]"}, "b": {`["x"]`, `["y"]`}}},
		"carriage returns, the last not":      {"a,b\r1,x\r2,y", storage.CSVOptions{}, "int64 utf8", map[string][]string{"a": {"[1]", "[2]"}, "b": {`["x"]`, `["y"]`}}},
		"carriage returns, a feed at the end": {"a,b\r1,x\r2,y\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"a": {"[1]", "[2]"}, "b": {`["x"]`, `["y"]`}}},
		"carriage returns in quotes":          {"a,b\r1,\"x\r\"\"z\"\"\"\r2,y\r", storage.CSVOptions{}, "int64 utf8", map[string][]string{"b": {`["x\r\"z\""]`, `["y"]`}}},
		"one in a quoted name":                {"a,\"b\rc\"\n1,x\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"b\rc": {`["x"]`}}},
		"both":                                {"a,b\r\n1,x\r\n2,y\r\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"b": {`["x"]`, `["y"]`}}},

		"all quoted":              {"\"a\",\"b\",\"c\"\n\"1\",\"\",\"x\"\n\"\",\"2.5\",\"\"\n\"3\",\"4\",\"z\"\n", storage.CSVOptions{}, "int64 float64 utf8", map[string][]string{"a": {"[1]", "[null]", "[3]"}, "b": {"[null]", "[2.5]", "[4]"}, "c": {`["x"]`, `[""]`, `["z"]`}}},
		"all quoted, other nulls": {"\"a\",\"b\"\n\"1\",\"NA\"\n\"NA\",\"2001-02-03\"\n", storage.CSVOptions{Nulls: []string{"NA"}}, "int64 date32", map[string][]string{"a": {"[1]", "[null]"}, "b": {"[null]", `["2001-02-03"]`}}},
		"quoted nulls of bools":   {"a\n\"true\"\n\"\"\n\"false\"\n", storage.CSVOptions{}, "bool", map[string][]string{"a": {"[true]", "[null]", "[false]"}}},
		"types given":             {"\"a\",\"b\"\n\"\",\"\"\n\"1\",\"x\"\n", storage.CSVOptions{Types: map[string]arrow.DataType{"a": arrow.PrimitiveTypes.Int32}}, "int32 utf8", map[string][]string{"a": {"[null]", "[1]"}, "b": {`[""]`, `["x"]`}}},

		"leading blanks":  {"a, b,c,d\n1, 2, 2.5, 2001-02-03\n 3,\t4 , -1, 2001-02-04\n", storage.CSVOptions{}, "int64 int64 float64 date32", map[string][]string{"a": {"[1]", "[3]"}, " b": {"[2]", "[4]"}, "c": {"[2.5]", "[-1]"}, "d": {`["2001-02-03"]`, `["2001-02-04"]`}}},
		"blanks alone":    {"a,b\n1,x\n  ,  \n3,y\n", storage.CSVOptions{}, "int64 utf8", map[string][]string{"a": {"[1]", "[null]", "[3]"}, "b": {`["x"]`, `["  "]`, `["y"]`}}},
		"blanks and text": {"a\n 1\n x\n", storage.CSVOptions{}, "utf8", map[string][]string{"a": {`[" 1"]`, `[" x"]`}}},
		"bools and times": {"a,b\n true, 2001-02-03T04:05:06\nfalse ,2001-02-03T04:05:07\n", storage.CSVOptions{}, "bool timestamp[us]", map[string][]string{"a": {"[true]", "[false]"}}},
	} {
		path := file(t, "kinds.csv", []byte(c.text))
		got, err := storage.ReadCSV(ctx, b, path, c.o, storage.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var types []string
		for _, f := range got.Schema().Fields() {
			types = append(types, f.Type.String())
		}
		if strings.Join(types, " ") != c.types {
			t.Errorf("%s: columns are %s, not %s", name, types, c.types)
		}
		values := columnsOf(t, got)
		for column, want := range c.want {
			if !slices.Equal(values[column], want) {
				t.Errorf("%s: column %q has %s, not %s", name, column, values[column], want)
			}
		}
		if host := b.Device.Place().HostAccessible(); host {
			pieces, err := storage.OpenPieces(ctx, b, storage.CSV(c.o, path))
			if err != nil {
				t.Fatal(err)
			}
			rows := int64(0)
			for i := range pieces.Len() {
				batches, err := pieces.Read(ctx, i, nil)
				if err != nil {
					t.Errorf("%s: piece %d: %v", name, i, err)
				}
				for _, one := range batches {
					rows += one.Len()
					one.Release()
				}
			}
			pieces.Close()
			if rows != got.NumRows() {
				t.Errorf("%s: %d rows in pieces, %d in all", name, rows, got.NumRows())
			}
		}
		got.Release()
	}
}

// TestCarriageReturnsInBlocks: ends of lines are found in texts of many blocks, whatever
// stands where one ends.
func TestCarriageReturnsInBlocks(t *testing.T) {
	b := backend(t)
	var feeds bytes.Buffer
	feeds.WriteString("n,text\n")
	for i := range 120_000 {
		feeds.WriteString(strings.Repeat("1", 1+i%7) + ",\"a, b\"\n")
	}
	want := read(t, b, file(t, "feeds.csv", feeds.Bytes()))
	defer want.Release()
	got := read(t, b, file(t, "returns.csv", bytes.ReplaceAll(feeds.Bytes(), []byte("\n"), []byte("\r"))))
	defer got.Release()
	same(t, got, want)
}
