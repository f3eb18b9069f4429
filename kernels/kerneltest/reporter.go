package kerneltest

import (
	"fmt"
	"runtime"
)

// Reporter is what a Suite reports failures to: a *testing.T, or the recorder
// that Planted listens with.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

// recorder keeps the first failure and ends the goroutine that reports it.
type recorder struct{ failure string }

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return r.failure != "" }

func (r *recorder) Errorf(format string, args ...any) {
	if r.failure == "" {
		r.failure = fmt.Sprintf(format, args...)
	}
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// record runs f with a recorder and gives the first failure that it reported,
// or "".
func record(f func(Reporter)) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.failure = fmt.Sprintf("panic: %v", p)
			}
		}()
		f(r)
	}()
	<-done
	return r.failure
}
