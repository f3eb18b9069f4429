package report

import (
	"math"
	"strconv"
)

// tick is a mark on an axis; one without a label is a small one.
type tick struct {
	value float64
	label string
}

// scale maps the values of an axis to pixels.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // pixels
	log      bool
}

// share is how far along the axis a value lies: 0 at its start, 1 at its end.
func (s scale) share(v float64) float64 {
	if s.log {
		return (math.Log(v) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return (v - s.lo) / (s.hi - s.lo)
}

func (s scale) at(v float64) float64 { return s.from + s.share(v)*(s.to-s.from) }

// ticks are the marks within the axis. print labels those of a logarithmic axis; those of a linear one are plain numbers.
func (s scale) ticks(print func(float64) string) []tick {
	all := linear(s.lo, s.hi)
	if s.log {
		all = decades(s.lo, s.hi, print)
	}
	within := all[:0]
	for _, t := range all {
		if share := s.share(t.value); share > -1e-9 && share < 1+1e-9 {
			within = append(within, t)
		}
	}
	return within
}

// linear marks 4 to 10 multiples of 1, 2 or 5 times a power of ten.
func linear(lo, hi float64) []tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, by := range []float64{5, 2} {
		if step*by <= (hi-lo)/4 {
			step *= by
			break
		}
	}
	var t []tick
	for k := math.Ceil(lo / step); k*step <= hi; k++ {
		t = append(t, tick{k * step, strconv.FormatFloat(k*step, 'g', 6, 64)})
	}
	return t
}

// decades marks the multiples of powers of ten. It labels the powers, each or, of many, only some; where the axis has but one, twice and five times it
// as well.
func decades(lo, hi float64, print func(float64) string) []tick {
	const most = 9                                                                 // labels beside each other
	first, last := math.Floor(math.Log10(lo)), min(math.Ceil(math.Log10(hi)), 308) // no float is above
	every := math.Ceil((last - first) / most)
	few := math.Log10(hi/lo) < 2
	var t []tick
	for e := first; e <= last; e++ {
		for k := 1.0; k < 10; k++ {
			mark := tick{value: k * math.Pow(10, e)}
			if k == 1 && math.Mod(e-first, every) == 0 || few && (k == 2 || k == 5) {
				mark.label = print(mark.value)
			}
			t = append(t, mark)
		}
	}
	return t
}
