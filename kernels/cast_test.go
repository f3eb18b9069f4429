package kernels

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
)

// Civil and Days against package time, over eight centuries day by day and at
// both ends of what a timestamp in seconds can be.
func TestCivil(t *testing.T) {
	from := time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := from; at.Year() < 2400; at = at.AddDate(0, 0, 1) {
		days := at.Unix() / 86400
		if at.Unix()%86400 != 0 {
			t.Fatal(at)
		}
		y, m, d := Civil(days)
		if int(y) != at.Year() || m != int(at.Month()) || d != at.Day() {
			t.Fatalf("%s: %d-%d-%d", at, y, m, d)
		}
		if back := Days(y, m, d); back != days {
			t.Fatalf("%s: day %d, not %d", at, back, days)
		}
	}
	for _, days := range []int64{math.MinInt64 / 86400, math.MaxInt64 / 86400, -719468, -719469} {
		if y, m, d := Civil(days); Days(y, m, d) != days {
			t.Errorf("day %d: %d-%d-%d is day %d", days, y, m, d, Days(y, m, d))
		}
	}
}

func TestCastScalarTexts(t *testing.T) {
	f := arrow.FixedWidthTypes
	zoned := &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	for _, c := range []struct {
		to   arrow.DataType
		good map[string]int64
		bad  []string
	}{
		{f.Date32, map[string]int64{"1970-01-01": 0, "0000-01-01": -719528, "+12345-06-07": 3789548, "-0001-12-31": -719529},
			[]string{"", "1970-1-1", "1970-13-01", "1970-00-01", "1970-02-30", "1970-01-01 ", "12345-06-07", "1970/01/01", "+999999999999-01-01"}},
		{f.Time64us, map[string]int64{"00:00": 0, "23:59:59.999999": 86400e6 - 1, "01:02:03.5": 3723500000, "01:02:03.500000000": 3723500000},
			[]string{"24:00", "1:00", "00:60", "00:00:60", "00:00:00.", "00:00:00.0000001", "00:00:00.0000000001", "-01:00"}},
		{zoned, map[string]int64{"1970-01-01T00:00:00Z": 0, "1970-01-01 01:00:00.000000001+01": 1, "1969-12-31 20:00-0400": 0, "1970-01-01 00:09:21+00:09:21": 0},
			[]string{"1970-01-01", "1970-01-01 00:00:00", "1970-01-01 00:00:00+1", "1970-01-01 00:00:00+24:00", "3000-01-01 00:00Z"}},
		{f.Duration_ms, map[string]int64{"15s": 15000, "-20ms": -20, "3000us": 3}, []string{"15", "s", "5us", "5m", "1.5s"}},
		{arrow.PrimitiveTypes.Int8, map[string]int64{"-128": -128, "+5": 5, "007": 7}, []string{"128", " 1", "1 ", "1_0", "0x1", "", "-", "1.0"}},
		{arrow.PrimitiveTypes.Uint8, map[string]int64{"255": 255, "+1": 1, "-0": 0}, []string{"256", "-1", "++1"}},
		{f.Boolean, map[string]int64{"true": 1, "FALSE": 0, "1": 1}, []string{"yes", "", "2"}},
		{dec(6, 2), map[string]int64{"1.5": 150, "-.25": -25, "1e3": 100000, "12345e-3": -1, "9999.99": 999999, "+0": 0},
			[]string{"", ".", "1.234", "10000", "1e", "1e99999", "--1", "1.2.3", "Ⅷ"}},
	} {
		for text, want := range c.good {
			got, err := CastScalar(String(text), c.to, CastOptions{})
			if want == -1 { // more digits than the type has
				if !errors.Is(err, device.ErrValue) {
					t.Errorf("%q as %s: %v, %v", text, c.to, got, err)
				}
				continue
			}
			if err != nil || got.Int64() != want {
				t.Errorf("%q as %s: %d, %v; want %d", text, c.to, got.Int64(), err, want)
			}
		}
		for _, text := range c.bad {
			if got, err := CastScalar(String(text), c.to, CastOptions{}); !errors.Is(err, device.ErrValue) {
				t.Errorf("%q as %s: %v, %v", text, c.to, got, err)
			}
		}
	}
	if _, err := CastScalar(Scalar{}, f.Date32, CastOptions{}); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("no scalar: %v", err)
	}
}

// Random floats survive a text, and decimals a float of enough digits.
func TestCastScalarRoundTrips(t *testing.T) {
	const seed = 7
	r := rand.New(rand.NewPCG(seed, 1))
	cast := func(v Scalar, to arrow.DataType) Scalar {
		got, err := CastScalar(v, to, CastOptions{})
		if err != nil {
			t.Fatalf("%s of %s to %s: %v (seed %d)", v, v.Type(), to, err, seed)
		}
		return got
	}
	for range 20_000 {
		f := math.Float64frombits(r.Uint64())
		if f != f || math.IsInf(f, 0) {
			continue
		}
		if back := cast(cast(Float64(f), arrow.BinaryTypes.String), arrow.PrimitiveTypes.Float64); back.Float64() != f {
			t.Fatalf("%g came back as %s (seed %d)", f, back, seed)
		}
		d := cast(Int64(r.Int64N(1e15)-5e14), dec(38, 0)).As(dec(15, 6))
		if back := cast(cast(d, arrow.PrimitiveTypes.Float64), d.Type()); back.Decimal() != d.Decimal() {
			t.Fatalf("%s came back as %s (seed %d)", d, back, seed)
		}
		s := Int(&arrow.TimestampType{Unit: arrow.Second}, int64(r.Uint64()))
		if back := cast(cast(s, arrow.BinaryTypes.String), s.Type()); back.Int64() != s.Int64() {
			t.Fatalf("%d came back as %d (seed %d)", s.Int64(), back.Int64(), seed)
		}
	}
}

// A time without a zone has none as text either, so that the text can be read as such again.
func TestTimesAsText(t *testing.T) {
	at := int64(981173106789)
	require.Equal(t, "2001-02-03 04:05:06.789", Int(&arrow.TimestampType{Unit: arrow.Millisecond}, at).String())
	require.Equal(t, "2001-02-03 04:05:06.789Z", Int(&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, at).String())
	require.Equal(t, "2001-02-03 05:05:06.789+01:00", Int(&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, at).String())
}
