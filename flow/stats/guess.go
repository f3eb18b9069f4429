package stats

import "math"

// What a condition lets through where nothing is known about its columns.
const (
	EqualShare = 0.1       // column = value
	RangeShare = 1.0 / 3.0 // column < value
	LikeShare  = 0.1       // like, contains, starts with, ends with
	OtherShare = 1.0 / 3.0
)

// Equal is the share of rows that have one value.
func (c Column) Equal(v float64, known bool) float64 {
	if c.Bounded && known && (v < c.Min || v > c.Max) {
		return 0
	}
	if c.Distinct < 1 {
		return EqualShare
	}
	return c.valid() / c.Distinct
}

// Below is the share of rows that have less than a value.
func (c Column) Below(v float64) float64 {
	switch {
	case !c.Bounded || math.IsNaN(v):
		return RangeShare
	case v <= c.Min:
		return 0
	case v > c.Max:
		return c.valid()
	}
	return c.valid() * (v - c.Min) / (c.Max - c.Min)
}

// valid is the share of rows that are not null.
func (c Column) valid() float64 {
	if c.Rows == 0 {
		return 1
	}
	return float64(c.Rows-c.Nulls) / float64(c.Rows)
}

// Kept is about how many of distinct values are left where a share of the rows that
// have them is.
func Kept(distinct, rows, share float64) float64 {
	if share >= 1 || distinct < 1 {
		return distinct
	}
	return distinct * (1 - math.Pow(1-share, max(1, rows/distinct)))
}

// Side is what one side of a join on several keys has: how many combinations of key values,
// and whether it is known only that there are no more of them.
type Side struct {
	Distinct float64
	AtMost   bool
}

// Matches is the share of pairs of rows of two sides that match: values of the side that has fewer
// are thought to be among those of the other.
func Matches(a, b Side) float64 {
	d := max(a.Distinct, b.Distinct)
	if a.AtMost && b.AtMost {
		d = min(a.Distinct, b.Distinct)
	}
	return 1 / max(1, d)
}
