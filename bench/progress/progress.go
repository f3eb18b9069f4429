// Package progress shows how far a long piece of work has come: a bar on a
// terminal, plain lines in a file or a pipe, or nothing.
package progress

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Progress is told about one piece of work after another. Start begins a
// piece and ends the one before it, if that is still open. All methods may be
// called from several goroutines; none of them fails, since work does not stop
// for want of somewhere to show it.
type Progress interface {
	// Start begins a piece of work of total units (rows, bytes, runs); a total
	// of zero or less means that it is not known.
	Start(name string, total int64)
	// Add says that n more units are done. Without a Start it does nothing.
	Add(n int64)
	// Done ends the piece of work. Without a Start it does nothing.
	Done()
}

// Nothing returns a Progress that shows nothing.
func Nothing() Progress { return nothing{} }

type nothing struct{}

func (nothing) Start(string, int64) {}
func (nothing) Add(int64)           {}
func (nothing) Done()               {}

// New returns a Progress that draws bars when w is a terminal and prints lines
// otherwise.
func New(w io.Writer) Progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return Bars(f)
	}
	return Lines(w)
}
