package volley_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

func Example() {
	dev, err := volley.Open("auto")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	airports := storage.ScanCSV(storage.CSVOptions{}, "testdata/flights/airports.csv")
	late, err := storage.ScanParquet("testdata/flights/flights-1m.parquet").On(dev).
		Filter("distance >= 500").
		Join(airports, table.Inner, table.Keys("origin", "iata")).
		GroupBy("state").
		Agg(table.Count(), table.Mean("delay"), table.Share(expr.Col("delay").Gt(15)).As("late")).
		Sort(table.Desc("mean_delay"), table.Asc("state")).
		Head(3).
		Collect(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer late.Release()
	fmt.Print(late)
	// Output:
	// state  count  mean_delay      late
	// utf8   int64     float64   float64
	// WY       133     16.1429  0.300752
	// IA       629      15.256  0.249603
	// SC       863     13.2491  0.279258
	// 3 rows × 4 columns
}

// The sample in README.md is the Example, with its output.
func TestReadmeSample(t *testing.T) {
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?s)\nfunc Example\(\) \{\n(.*?)\t// Output:\n(.*?)\}\n`).FindStringSubmatch(strings.ReplaceAll(string(source), "\r\n", "\n"))
	if parts == nil {
		t.Fatal("example_test.go has no Example with an output")
	}
	code := strings.TrimPrefix(strings.ReplaceAll(parts[1], "\n\t", "\n"), "\t")
	output := strings.ReplaceAll(parts[2], "\t// ", "")
	text := strings.ReplaceAll(string(readme), "\r\n", "\n")
	if want := "```go\n" + code + "```\n"; !strings.Contains(text, want) {
		t.Errorf("README.md has no\n%s", want)
	}
	if want := "```\n" + output + "```\n"; !strings.Contains(text, want) {
		t.Errorf("README.md has no\n%s", want)
	}
}
