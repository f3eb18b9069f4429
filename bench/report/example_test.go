package report_test

import (
	"os"

	"github.com/volley-go/volley/bench/report"
)

func ExampleWriter() {
	r := report.Record{Suite: "columnar", Op: "filter", Engine: "volley", Device: "cpu", Rows: report.Of(int64(1000)), OK: report.Of(true)}
	r.SetTiming(report.Timing{Seconds: []float64{0.002, 0.001, 0.004}})
	r.SetBytes(16_000_000, 16)
	if err := report.NewWriter(os.Stdout).Record(r); err != nil {
		panic(err)
	}
	// Output: {"suite":"columnar","op":"filter","engine":"volley","device":"cpu","rows":1000,"median_s":0.002,"min_s":0.001,"runs":3,"bytes":16000000,"gb_s":8,"share_of_limit":0.5,"ok":true}
}

func ExampleGrid_WriteText() {
	g := report.Grid{Header: []string{"state", "flights"}, Left: []bool{true}}
	g.Add("WY", report.Count(133))
	g.Add("SC", report.Count(8630))
	if err := g.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// state  flights
	// -----  -------
	// WY         133
	// SC       8,630
}
