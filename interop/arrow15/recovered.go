package arrow15

import (
	"fmt"

	"github.com/volley-go/volley/memory"
)

// recovered makes a panic of either library an error: they panic where the
// parts of an array contradict each other.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", memory.ErrMismatch, p)
	}
}
