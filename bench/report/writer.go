package report

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Writer is a [Sink] that writes one JSON object a line. It keeps no buffer:
// each object is one Write to the underlying writer, so a reader of a pipe
// sees a step as soon as it is done. It is safe for concurrent use.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Record writes r as one line. A record without a suite, or with a number that
// is negative, infinite or NaN, is an error and nothing is written.
func (w *Writer) Record(r Record) error {
	if err := r.validate(); err != nil {
		return err
	}
	return w.line(r)
}

// Answer writes a as one line. An answer without a suite, or whose value
// encoding/json cannot encode, is an error and nothing is written.
func (w *Writer) Answer(a Answer) error {
	if err := a.validate(); err != nil {
		return err
	}
	return w.line(a)
}

func (w *Writer) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("report: encoding a line: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("report: writing a line: %w", err)
	}
	return nil
}
