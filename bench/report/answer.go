package report

import "fmt"

// Answer is one result that a suite computed, as opposed to how long it took.
// Its JSON is {"suite":…,"answer":…}.
type Answer struct {
	Suite string `json:"suite"`  // the suite, such as "flights"
	Value any    `json:"answer"` // anything encoding/json can encode

	// Grid is the same answer for people, printed on a terminal and on the
	// page. It is not part of the JSON; nil prints nothing.
	Grid *Grid `json:"-"`
}

func (a *Answer) validate() error {
	if a.Suite == "" {
		return fmt.Errorf("report: answer %v has no suite", a.Value)
	}
	return nil
}

// Sink receives what a suite finds, as it finds it. An error from a Sink (a
// closed pipe, a full disk) is to end the suite and be returned by it.
type Sink interface {
	// Record takes one measured step.
	Record(Record) error
	// Answer takes one computed result.
	Answer(Answer) error
}

// Incomplete is the error of a suite that came to its end, with its answer, but
// without some of what it was to measure.
type Incomplete struct{ Text string }

// Error implements error.
func (i *Incomplete) Error() string { return i.Text }
