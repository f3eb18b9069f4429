package report

import "time"

// sample is a small set of records of both kinds of suite.
func sample() []Record {
	var out []Record
	for i, op := range []string{"query: read", "query: transfer", "query: compute", "regression: read", "regression: compute"} {
		for j, engine := range []string{"volley", "reference"} {
			r := Record{Suite: "flights", Op: op, Engine: engine, Version: "v0.1.0", Device: "cpu", Rows: Of(int64(1_000_000)), Threads: 2, OK: Of(true)}
			base := []float64{0.031, 0.00021, 0.0123, 0.029, 0.0088}[i]
			r.SetTiming(Timing{Seconds: []float64{base * float64(1+3*j), base * float64(1+3*j) * 1.1, base * float64(1+3*j) * 1.3}})
			r.SetBytes(48_000_000, 512)
			r.PeakRSSBytes = Of(int64(120 << 20))
			out = append(out, r)
		}
	}
	for i, op := range []string{"filter", "group_by", "join"} {
		r := Record{Suite: "columnar", Op: op, Engine: "volley", Device: "cpu", Rows: Of(int64(10_000_000))}
		r.SetTiming(Timing{Seconds: []float64{0.1 * float64(i+1)}})
		r.SetBytes(160_000_000, 12)
		out = append(out, r)
	}
	return out
}

func samplePage() *Page {
	g := Grid{Title: "Query: mean delay by state", Header: []string{"state", "count", "mean_delay"}, Left: []bool{true}}
	g.Add("WY", "133", "16.142857142857142")
	g.Add("IA", "629", "15.255961844197138")
	return &Page{
		Title:     "volley bench flights",
		When:      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Machine:   Machine{CPU: "Example CPU <2>", Cores: 2, Threads: 4, GOMAXPROCS: 4, MemoryBytes: 16 << 30, OS: "linux", Arch: "amd64", Go: "go1.25.0", Version: "v0.1.0"},
		Bandwidth: &Bandwidth{ReadGBs: 21.5, CopyGBs: 18.25, Threads: 2, BufferBytes: 1 << 30},
		Answers:   []Answer{{Suite: "flights", Value: 1, Grid: &g}},
		Records:   sample(),
		Notes:     []string{"Times are medians of 5 runs after a warm-up."},
	}
}
