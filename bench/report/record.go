package report

import (
	"fmt"
	"math"
)

// Record is one measured step: an operation of a suite, run by an engine on a
// device. Fields that do not apply are left out of the JSON: an empty string,
// a zero Threads or Runs, a nil pointer. The pointers keep "nothing was
// measured" apart from a measured zero and "not checked" apart from a wrong
// answer, so that 0 rows and ok=false are written.
type Record struct {
	Suite   string `json:"suite"`             // the suite, such as "flights"
	Op      string `json:"op,omitempty"`      // the operation or step, such as "group_by"
	Engine  string `json:"engine,omitempty"`  // "volley", "reference" or a peer's name
	Version string `json:"version,omitempty"` // the engine's version
	Device  string `json:"device,omitempty"`  // a device name, such as "cpu" or "cuda:0"
	Model   string `json:"model,omitempty"`   // the device's product name, of suites about devices
	Driver  string `json:"driver,omitempty"`  // its driver with the version
	Rows    *int64 `json:"rows,omitempty"`    // input rows of one run
	Threads int    `json:"threads,omitempty"` // threads that the engine was allowed
	Ranks   int    `json:"ranks,omitempty"`   // processes that took part, of collective operations

	MedianS  *float64 `json:"median_s,omitempty"`        // median time of a run, seconds
	MinS     *float64 `json:"min_s,omitempty"`           // fastest run, seconds
	Runs     int      `json:"runs,omitempty"`            // timed runs, the warm-up not counted
	Unsteady int      `json:"rounds_unsteady,omitempty"` // rounds among them beside which the machine gave less than at its best

	Bytes        *int64   `json:"bytes,omitempty"`          // bytes that the operation's meaning requires moving
	GBs          *float64 `json:"gb_s,omitempty"`           // Bytes over MedianS, 1e9 bytes per second
	ShareOfLimit *float64 `json:"share_of_limit,omitempty"` // GBs over what the machine can reach, 1 = all of it

	GFLOPs      *float64 `json:"gflop_s,omitempty"`       // 1e9 floating-point operations per second of the median run
	ShareOfPeak *float64 `json:"share_of_peak,omitempty"` // GFLOPs over those that the processor reaches in registers, 1 = all of them

	PeakRSSBytes *int64 `json:"peak_rss_bytes,omitempty"` // peak resident memory of the process during the runs
	WholeBytes   *int64 `json:"whole_bytes,omitempty"`    // that peak above what the process had before its input
	GrowthBytes  *int64 `json:"growth_bytes,omitempty"`   // how far resident memory grew above the input in place

	Way  string   `json:"way,omitempty"`  // which of an engine's ways it was, where it has several
	CPUs *float64 `json:"cpus,omitempty"` // processor seconds a second: threads really used
	OK   *bool    `json:"ok,omitempty"`   // whether the answer was checked and right
}

// Of returns a pointer to a copy of v, for the optional fields of a [Record].
func Of[T any](v T) *T { return &v }

// SetTiming fills MedianS, MinS and Runs from t. A Timing without runs clears
// them.
func (r *Record) SetTiming(t Timing) {
	r.MedianS, r.MinS, r.Runs = nil, nil, len(t.Seconds)
	if r.Runs > 0 {
		r.MedianS, r.MinS = Of(t.Median()), Of(t.Min())
	}
}

// SetBytes fills Bytes, and GBs and ShareOfLimit where they can be known: GBs
// needs a median time above zero (call SetTiming first), ShareOfLimit a
// limitGBs above zero, in 1e9 bytes per second.
func (r *Record) SetBytes(bytes int64, limitGBs float64) {
	r.Bytes, r.GBs, r.ShareOfLimit = Of(bytes), nil, nil
	if r.MedianS == nil || *r.MedianS <= 0 {
		return
	}
	r.GBs = Of(float64(bytes) / *r.MedianS / 1e9)
	if limitGBs > 0 {
		r.ShareOfLimit = Of(*r.GBs / limitGBs)
	}
}

// RowsPerSecond returns Rows over MedianS; false when either is missing or the
// time is zero.
func (r *Record) RowsPerSecond() (float64, bool) {
	if r.Rows == nil || r.MedianS == nil || *r.MedianS <= 0 {
		return 0, false
	}
	return float64(*r.Rows) / *r.MedianS, true
}

// Wrong reports whether the answer was checked and found wrong. A step whose
// answer was not checked is not wrong.
func (r *Record) Wrong() bool { return r.OK != nil && !*r.OK }

// Label names the step for a message: suite/op engine on device, as far as
// they are known.
func (r *Record) Label() string {
	s := r.Suite
	if r.Op != "" {
		s += "/" + r.Op
	}
	if r.Engine != "" {
		s += " " + r.Engine
	}
	if r.Device != "" {
		s += " on " + r.Device
	}
	return s
}

// validate refuses what no measurement can give, so that a broken suite is
// found where it writes and not by whoever reads its file.
func (r *Record) validate() error {
	if r.Suite == "" {
		return fmt.Errorf("report: record of op %q has no suite", r.Op)
	}
	for _, f := range []struct {
		name  string
		value *float64
	}{{"median_s", r.MedianS}, {"min_s", r.MinS}, {"gb_s", r.GBs}, {"share_of_limit", r.ShareOfLimit}, {"gflop_s", r.GFLOPs}, {"cpus", r.CPUs}, {"share_of_peak", r.ShareOfPeak}} {
		if v := f.value; v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
			return fmt.Errorf("report: record %s: %s is %v", r.Label(), f.name, *v)
		}
	}
	for _, f := range []struct {
		name  string
		value *int64
	}{{"rows", r.Rows}, {"bytes", r.Bytes}, {"peak_rss_bytes", r.PeakRSSBytes}, {"whole_bytes", r.WholeBytes}, {"growth_bytes", r.GrowthBytes}} {
		if f.value != nil && *f.value < 0 {
			return fmt.Errorf("report: record %s: %s is %d", r.Label(), f.name, *f.value)
		}
	}
	if r.Threads < 0 || r.Runs < 0 || r.Ranks < 0 || r.Unsteady < 0 {
		return fmt.Errorf("report: record %s: threads is %d, runs is %d, ranks is %d, rounds_unsteady is %d", r.Label(), r.Threads, r.Runs, r.Ranks, r.Unsteady)
	}
	return nil
}
