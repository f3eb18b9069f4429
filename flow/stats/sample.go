package stats

import (
	"math"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// sampleRows is how many rows are looked at to guess how many values there are.
const sampleRows = 4096

// value is a value as a key of a map: floats by their bits.
type value struct {
	high, low uint64
	text      string
}

// sample counts how often the values of some rows come.
type sample struct {
	counts  map[value]int
	rows    int
	longest int
}

// sampleOf takes rows that lie evenly over the parts.
func sampleOf(parts []*memory.Column, rows int64) sample {
	s := sample{counts: map[value]int{}}
	t := parts[0].Type().ID()
	if !kernels.KeyTypes.Has(t) {
		return s
	}
	step := max(1, float64(rows)/sampleRows)
	from := int64(0)
	at := float64(0)
	for _, p := range parts {
		for ; int64(at) < from+p.Len(); at += step {
			v := kernels.ScalarAt(p, int64(at)-from)
			if !v.Valid() {
				continue
			}
			k := value{low: v.Uint64(), text: v.Text()}
			if kernels.DecimalTypes.Has(v.Type().ID()) {
				k.high = uint64(v.Decimal().HighBits())
			}
			s.counts[k]++
			s.rows++
			s.longest = max(s.longest, len(k.text))
		}
		from += p.Len()
	}
	return s
}

// distinct guesses how many values n rows have of which these were drawn: the values
// that came once say how many did not come at all (the first jackknife estimator of
// Haas and Stokes).
func (s sample) distinct(n float64) float64 {
	if s.rows == 0 {
		return n
	}
	d, r := float64(len(s.counts)), float64(s.rows)
	if r >= n {
		return d
	}
	once := 0.0
	for _, k := range s.counts {
		if k == 1 {
			once++
		}
	}
	if once == r {
		return n
	}
	guess := d / (1 - (1-r/n)*once/r)
	return math.Round(min(max(guess, d), n))
}
