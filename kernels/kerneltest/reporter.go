package kerneltest

import "fmt"

// Reporter is what a Suite reports failures to: a *testing.T, or the recorder
// that Planted listens with.
type Reporter interface {
	// Helper is that of testing.T.
	Helper()
	// Errorf reports a failure.
	Errorf(format string, args ...any)
	// Fatalf reports a failure after which nothing more is to be done.
	Fatalf(format string, args ...any)
	// Failed tells whether there was a failure.
	Failed() bool
}

// recorder keeps the first failure. The suite does nothing more after it.
type recorder struct{ failure string }

// Helper does nothing.
func (r *recorder) Helper() {}

// Failed tells whether a failure was kept.
func (r *recorder) Failed() bool { return r.failure != "" }

// Errorf keeps the first failure.
func (r *recorder) Errorf(format string, args ...any) {
	if r.failure == "" {
		r.failure = fmt.Sprintf(format, args...)
	}
}

// Fatalf keeps the first failure.
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// record runs f with a recorder and gives the first failure that it reported,
// or "". A panic counts as one.
func record(f func(Reporter)) string {
	r := &recorder{}
	func() {
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		f(r)
	}()
	return r.failure
}
