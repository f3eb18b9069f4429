package flights

import (
	"crypto/sha256"
	_ "embed" // the known answers
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/volley-go/volley/bench/report"
)

// State is a row of the query's answer.
type State struct {
	State     string  `json:"state"`      // two letters, as airports.csv has them
	Flights   int64   `json:"flights"`    // flights of at least 500 miles that left from there
	MeanDelay float64 `json:"mean_delay"` // minutes
	MaxDelay  int64   `json:"max_delay"`  // minutes
	LateShare float64 `json:"late_share"` // share with a delay of more than 15 minutes, 0 to 1
}

// Answer is what one engine on one device computed.
type Answer struct {
	Rows   int64   `json:"rows"`   // flights read
	Passed int64   `json:"passed"` // of them at least 500 miles long, with a known origin
	States []State `json:"states"` // by mean delay, descending, then by state
	// Coefficients are those of 1, distance/1000, hour/24, latitude/90 and
	// longitude/180 in the fit of the delay in minutes.
	Coefficients [5]float64 `json:"coefficients"`
	R2           float64    `json:"r2"`
}

//go:embed golden.json
var goldenJSON []byte

// goldenData is the SHA-256 of the two files that goldenJSON, made by other
// software (pandas and numpy), is the answer to.
var goldenData = [2]string{
	"5b0848654c6e564afdb1b4bb47fbb7db820015986592b213f7c25546d38a2b26", // flights-1m.parquet
	"903c7169e6d558eefb95295fe2947ec8503135fbb855ea5c737cf4a90ea603ad", // airports.csv
}

// golden is the known answer to these files, nil if there is none.
func golden(flights, airports string) (*Answer, error) {
	for i, path := range []string{flights, airports} {
		sum, err := sha256File(path)
		if err != nil || sum != goldenData[i] {
			return nil, err
		}
	}
	a := new(Answer)
	return a, json.Unmarshal(goldenJSON, a)
}

func sha256File(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// The bounds within which two answers agree, relative to the larger value.
// Means are quotients of exact integers, so only their last bits may differ;
// the fit solves normal equations with a condition number of about 1e3 over
// sums of a million products.
const (
	meanBound = 1e-14
	fitBound  = 1e-9
)

// sameQuery says how the rows of the query differ from want's, nil if they do
// not.
func (a *Answer) sameQuery(want *Answer) error {
	if a.Rows != want.Rows || a.Passed != want.Passed {
		return fmt.Errorf("%d of %d flights passed, not %d of %d", a.Passed, a.Rows, want.Passed, want.Rows)
	}
	if len(a.States) != len(want.States) {
		return fmt.Errorf("%d states, not %d", len(a.States), len(want.States))
	}
	for i, got := range a.States {
		w := want.States[i]
		if got.State != w.State || got.Flights != w.Flights || got.MaxDelay != w.MaxDelay ||
			!near(got.MeanDelay, w.MeanDelay, meanBound) || !near(got.LateShare, w.LateShare, meanBound) {
			return fmt.Errorf("row %d is %+v, not %+v", i, got, w)
		}
	}
	return nil
}

// sameFit says how the fit differs from want's, nil if it does not.
func (a *Answer) sameFit(want *Answer) error {
	for i, got := range a.Coefficients {
		if !near(got, want.Coefficients[i], fitBound) {
			return fmt.Errorf("coefficient %d is %.16g, not %.16g", i, got, want.Coefficients[i])
		}
	}
	if !near(a.R2, want.R2, fitBound) {
		return fmt.Errorf("the R² is %.16g, not %.16g", a.R2, want.R2)
	}
	return nil
}

// near holds two numbers to a relative bound. A NaN is near nothing.
func near(a, b, bound float64) bool {
	return a == b || math.Abs(a-b) <= bound*max(math.Abs(a), math.Abs(b))
}

// grids shows an answer to people.
func (a *Answer) grids() (query, fit *report.Grid) {
	query = &report.Grid{
		Title:  fmt.Sprintf("Delay by state of departure: %s of %s flights are at least 500 miles long", report.Count(a.Passed), report.Count(a.Rows)),
		Header: []string{"state", "flights", "mean delay, min", "max delay, min", "late by > 15 min"},
		Left:   []bool{true},
	}
	for i, s := range a.States {
		if shown := 5; i >= shown && i < len(a.States)-shown {
			if i == shown {
				query.Add("…", "", "", "", "")
			}
			continue
		}
		query.Add(s.State, report.Count(s.Flights), fmt.Sprintf("%.4f", s.MeanDelay), report.Count(s.MaxDelay), fmt.Sprintf("%.2f %%", 100*s.LateShare))
	}
	fit = &report.Grid{
		Title:  "Least squares of the delay, in minutes",
		Header: []string{"term", "coefficient"},
		Left:   []bool{true},
		Note:   fmt.Sprintf("R² = %.6f", a.R2),
	}
	for i, name := range []string{"1", "distance / 1000 miles", "hour / 24", "latitude / 90°", "longitude / 180°"} {
		fit.Add(name, fmt.Sprintf("%.8f", a.Coefficients[i]))
	}
	return query, fit
}
