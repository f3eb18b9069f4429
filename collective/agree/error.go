package agree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/volley-go/volley/device"
)

// Error is an error that some ranks had, on all ranks: its text and its kind (device's,
// for errors.Is) are the same everywhere. On a rank that had one itself errors.Is and
// errors.As find that one too.
type Error struct {
	Op     string   // the operation, "" where the ranks are in different ones
	Number uint64   // which of the Comm's operations it is, from 1
	Ranks  []int    // who had an error
	Texts  []string // what it was, by Ranks
	Kind   error    // the kind of the first, nil where it has none of device's
	own    error
}

// Error names the operation, the ranks and what each of them had.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		fmt.Fprintf(&b, "%s #%d: ", e.Op, e.Number)
	}
	var order []string
	by := map[string][]int{}
	for i, text := range e.Texts {
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], e.Ranks[i])
	}
	for i, text := range order {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(Ranks(by[text]) + ": " + text)
	}
	return b.String()
}

// Unwrap gives the kind and this rank's own error.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.own} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Ranks names ranks in words: "rank 1", "ranks 0, 2 to 5".
func Ranks(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("rank %d", list[0])
	}
	var words []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		switch {
		case j > i+1:
			words = append(words, fmt.Sprintf("%d to %d", list[i], list[j]))
		case j == i+1:
			words = append(words, fmt.Sprint(list[i]), fmt.Sprint(list[j]))
		default:
			words = append(words, fmt.Sprint(list[i]))
		}
		i = j + 1
	}
	return "ranks " + strings.Join(words, ", ")
}

// kinds are the kinds of error as numbers on the wire, from 1; those of Call.Kinds follow them.
var kinds = []error{device.ErrUnavailable, device.ErrUnsupported, device.ErrOutOfMemory, device.ErrClosed, device.ErrMismatch, device.ErrLost, device.ErrCanceled, device.ErrValue}

func (c *Call) kindOf(err error) int {
	for i, k := range append(kinds[:len(kinds):len(kinds)], c.Kinds...) {
		if errors.Is(err, k) {
			return i + 1
		}
	}
	return 0
}

func (c *Call) kindNamed(n int) error {
	if all := append(kinds[:len(kinds):len(kinds)], c.Kinds...); n > 0 && n <= len(all) {
		return all[n-1]
	}
	return nil
}
