package transport

import (
	"sync"
	"sync/atomic"
)

// Stop is the interruption of an endpoint: an error that comes once and stays.
type Stop struct {
	once sync.Once
	err  atomic.Pointer[error]
	done chan struct{}
}

// NewStop is one that has not come.
func NewStop() *Stop { return &Stop{done: make(chan struct{})} }

// Set makes it come; only the first call counts, and returns true.
func (s *Stop) Set(err error) bool {
	first := false
	s.once.Do(func() {
		first = true
		s.err.Store(&err)
		close(s.done)
	})
	return first
}

// Err is the error, or nil.
func (s *Stop) Err() error {
	if p := s.err.Load(); p != nil {
		return *p
	}
	return nil
}

// Done is closed when it comes.
func (s *Stop) Done() <-chan struct{} { return s.done }
