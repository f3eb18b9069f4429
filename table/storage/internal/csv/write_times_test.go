package csv

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Days and clocks are what package time writes, in all years and units.
func TestTimesAsText(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for day := int64(firstDay) - 800; day < lastDay+800; day += 1 + rng.Int64N(40) {
		want := time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly)
		if got := string(appendDay(nil, day)); got != want {
			t.Fatalf("day %d is %s, want %s (seed %d)", day, got, want, seed)
		}
	}
	layouts := map[arrow.TimeUnit]string{
		arrow.Second: "15:04:05", arrow.Millisecond: "15:04:05.000", arrow.Microsecond: "15:04:05.000000", arrow.Nanosecond: "15:04:05.000000000",
	}
	for unit, layout := range layouts {
		c := clockTextOf(unit)
		values := []int64{0, -1, 1, c.perSecond - 1, c.perSecond, secondsPerDay*c.perSecond - 1, math.MaxInt64, math.MinInt64}
		for range 2000 {
			values = append(values, int64(rng.Uint64())>>rng.IntN(64))
		}
		for _, v := range values {
			if unit == arrow.Second {
				v >>= 8 // package time holds no more
			}
			each := int64(unit.Multiplier())
			want := time.Unix(v/c.perSecond, v%c.perSecond*each).UTC().Format(layout)
			if got := string(c.append(nil, v)); got != want {
				t.Fatalf("%d %s is %s, want %s (seed %d)", v, unit, got, want, seed)
			}
			want = time.Unix(v/c.perSecond, v%c.perSecond*each).UTC().Format(time.DateOnly + "T" + layout)
			if got := string(c.moment(nil, v, 'T')); got != want {
				t.Fatalf("%d %s is %s, want %s (seed %d)", v, unit, got, want, seed)
			}
		}
	}
}
