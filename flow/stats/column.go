package stats

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Column is what is known about the values of a column.
type Column struct {
	Rows, Nulls int64
	// Bounded says that Min and Max are known: of numbers, decimals, dates and times, as
	// float64, nulls and NaNs left out.
	Bounded  bool
	Min, Max float64
	// Distinct is about how many values there are, null not among them.
	Distinct float64
	// Sorted says that there are no nulls and no value is less than the one before it.
	Sorted bool
	// Longest is the most bytes that a text of a sample has.
	Longest int
}

// Of looks at a column that lies in parts in memory that the host can read; ok is
// false where one does not.
func Of(parts []*memory.Column) (c Column, ok bool) {
	for _, p := range parts {
		if !p.Place().HostAccessible() {
			return Column{}, false
		}
		c.Rows += p.Len()
		c.Nulls += p.NullCount()
	}
	if c.Rows == c.Nulls {
		return c, true
	}
	s := sampleOf(parts, c.Rows)
	c.Distinct, c.Longest = s.distinct(float64(c.Rows-c.Nulls)), s.longest
	c.bound(parts)
	return c, true
}

// Unique reports whether no value seems to come twice.
func (c Column) Unique() bool { return c.Nulls == 0 && c.Distinct >= 0.999*float64(c.Rows) }

// look is what one part shows.
type look struct {
	min, max    float64
	first, last float64
	runs        int64 // of equal values, where sorted
	some        bool
	sorted      bool
}

// bound finds the bounds of columns that have an order of numbers, several parts at a
// time. Of whole numbers there are no more than lie between the bounds, and of
// sorted ones as many as there are runs.
func (c *Column) bound(parts []*memory.Column) {
	f := looker(parts[0].Type())
	if f == nil {
		return
	}
	looks := make([]look, len(parts))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		wg.Go(func() {
			for k := next.Add(1) - 1; k < int64(len(parts)); k = next.Add(1) - 1 {
				looks[k] = f(parts[k])
			}
		})
	}
	wg.Wait()
	c.Min, c.Max, c.Sorted = math.Inf(1), math.Inf(-1), c.Nulls == 0
	runs, last := int64(0), math.Inf(-1)
	for _, l := range looks {
		if !l.some {
			continue
		}
		c.Bounded = true
		c.Min, c.Max = min(c.Min, l.min), max(c.Max, l.max)
		c.Sorted = c.Sorted && l.sorted && l.first >= last
		if runs += l.runs; l.first == last {
			runs--
		}
		last = l.last
	}
	switch {
	case !c.Bounded:
		c.Sorted = false
	case c.Sorted:
		c.Distinct = float64(runs)
	case whole(parts[0].Type()):
		c.Distinct = min(c.Distinct, c.Max-c.Min+1)
	}
}

// whole reports whether two values of a type are at least 1 apart.
func whole(t arrow.DataType) bool {
	return kernels.IntegerTypes.Has(t.ID()) || kernels.TemporalTypes.Has(t.ID()) || t.ID() == arrow.BOOL
}

// looker is how the parts of a type are looked at; nil where values are no numbers.
func looker(t arrow.DataType) func(*memory.Column) look {
	switch t.ID() {
	case arrow.INT8:
		return lookAt[int8]
	case arrow.INT16:
		return lookAt[int16]
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return lookAt[int32]
	case arrow.INT64, arrow.DATE64, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return lookAt[int64]
	case arrow.UINT8:
		return lookAt[uint8]
	case arrow.UINT16:
		return lookAt[uint16]
	case arrow.UINT32:
		return lookAt[uint32]
	case arrow.UINT64:
		return lookAt[uint64]
	case arrow.FLOAT32:
		return lookAt[float32]
	case arrow.FLOAT64:
		return lookAt[float64]
	case arrow.DECIMAL128:
		scale := math.Pow10(-int(t.(*arrow.Decimal128Type).Scale))
		return func(c *memory.Column) look { return lookAtDecimals(c, scale) }
	}
	return nil
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// lookAt reads all values. NaNs are left out, and no column with one counts as sorted.
func lookAt[T number](c *memory.Column) look {
	values := memory.Values[T](c)[:c.Len()]
	if c.MayHaveNulls() {
		l := look{min: math.Inf(1), max: math.Inf(-1)}
		for i, v := range values {
			if v == v && !c.IsNull(int64(i)) {
				l.min, l.max, l.some = min(l.min, float64(v)), max(l.max, float64(v)), true
			}
		}
		return l
	}
	l := look{min: math.Inf(1), max: math.Inf(-1), sorted: true, runs: 1}
	if len(values) == 0 {
		return look{}
	}
	least, greatest, last := values[0], values[0], values[0]
	for _, v := range values[1:] { // ends where the order does
		if !(v >= last) {
			l.sorted = false
			break
		}
		if v != last {
			l.runs++
		}
		last = v
	}
	if l.sorted && last == last && least == least {
		return look{min: float64(least), max: float64(last), first: float64(least), last: float64(last), runs: l.runs, some: true, sorted: true}
	}
	some := false
	for _, v := range values {
		if v != v {
			continue
		}
		if !some {
			least, greatest, some = v, v, true
		}
		if v < least {
			least = v
		}
		if v > greatest {
			greatest = v
		}
	}
	return look{min: float64(least), max: float64(greatest), some: some}
}

// lookAtDecimals reads the values of a decimal column as floats.
func lookAtDecimals(c *memory.Column, scale float64) look {
	words := memory.Values[[2]uint64](c)[:c.Len()]
	nulls := c.MayHaveNulls()
	l := look{min: math.Inf(1), max: math.Inf(-1)}
	for i, w := range words {
		if nulls && c.IsNull(int64(i)) {
			continue
		}
		v := float64(int64(w[0]))
		if int64(w[1]) != int64(w[0])>>63 { // past 64 bits
			v = float64(int64(w[1]))*0x1p64 + float64(w[0])
		}
		l.min, l.max, l.some = min(l.min, v), max(l.max, v), true
	}
	l.min, l.max = l.min*scale, l.max*scale
	return l
}
