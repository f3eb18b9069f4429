package kerneltest

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

func temporal(s *Suite) {
	for c := range s.Cases(kernels.TemporalTypes) {
		var fields []kernels.TemporalField
		for f := kernels.Year; f <= kernels.DayOfYear; f++ {
			if _, err := kernels.TemporalType(f, c.Type); err == nil {
				fields = append(fields, f)
			}
		}
		if len(fields) == 0 {
			continue
		}
		f := fields[s.Rand.IntN(len(fields))]
		column := s.Column(c)
		call := Call{Case: c, Note: f.String()}
		run := func(e *Env) (Result, error) { return One(e.Temporal(e.Ctx, e.Stream, f, e.On(column))) }
		s.Check(call, run)
		if c.Length == 65 && s.Rand.IntN(4) == 0 || c.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	temporalGolden(s)
	duration := s.FromScalars(arrow.FixedWidthTypes.Duration_s, kernels.Int(arrow.FixedWidthTypes.Duration_s, 1))
	s.refuses("duration", func(e *Env) (Result, error) {
		return One(e.Temporal(e.Ctx, e.Stream, kernels.Year, e.On(duration)))
	}, "duration")
	nowhere := &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Mars/Olympus"}
	lost := s.FromScalars(nowhere, kernels.Int(nowhere, 1))
	s.refuses("zone", func(e *Env) (Result, error) {
		return One(e.Temporal(e.Ctx, e.Stream, kernels.Hour, e.On(lost)))
	}, "Mars/Olympus")
}

// temporalGolden holds fields to values written down here: leap days, the year
// before 1970, both sides of a change of the clock, offsets of half an hour.
func temporalGolden(s *Suite) {
	for _, g := range []struct {
		zone string
		at   time.Time
		want [8]int64 // year month day hour minute second day-of-week day-of-year
	}{
		{"", time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC), [8]int64{2024, 2, 29, 23, 59, 59, 3, 60}},
		{"UTC", time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), [8]int64{1969, 12, 31, 23, 59, 59, 2, 365}},
		{"America/New_York", time.Date(2024, 3, 10, 6, 59, 59, 0, time.UTC), [8]int64{2024, 3, 10, 1, 59, 59, 6, 70}},
		{"America/New_York", time.Date(2024, 3, 10, 7, 0, 0, 0, time.UTC), [8]int64{2024, 3, 10, 3, 0, 0, 6, 70}},
		{"Asia/Kolkata", time.Date(1999, 12, 31, 18, 30, 0, 0, time.UTC), [8]int64{2000, 1, 1, 0, 0, 0, 5, 1}},
		{"-03:30", time.Date(2000, 1, 1, 0, 0, 1, 0, time.UTC), [8]int64{1999, 12, 31, 20, 30, 1, 4, 365}},
		{"", time.Date(-44, 3, 15, 12, 0, 0, 0, time.UTC), [8]int64{-44, 3, 15, 12, 0, 0, 3, 75}},
	} {
		for _, u := range []arrow.TimeUnit{arrow.Second, arrow.Millisecond, arrow.Microsecond} {
			t := &arrow.TimestampType{Unit: u, TimeZone: g.zone}
			x := s.FromScalars(t, kernels.Null(t), kernels.Int(t, g.at.Unix()*kernels.PerSecond(u)))
			for f, want := range g.want {
				s.golden(g.at.String()+" "+g.zone, func(e *Env) (Result, error) {
					return One(e.Temporal(e.Ctx, e.Stream, kernels.TemporalField(f), e.On(x)))
				}, s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Null(arrow.PrimitiveTypes.Int64), kernels.Int64(want)))
			}
		}
	}
}

func benchTemporal(b *Bencher) {
	for _, zone := range []string{"", "Europe/Berlin"} {
		t := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: zone}
		c := b.Column(t, Wild, 0)
		for _, f := range []kernels.TemporalField{kernels.Hour, kernels.Year} {
			b.Measure(b.Name(t, 0, "field="+f.String(), "zone="+zone), 2*Bytes(c), func(e *Env) (Result, error) {
				return One(e.Temporal(e.Ctx, e.Stream, f, e.On(c)))
			})
		}
	}
}
