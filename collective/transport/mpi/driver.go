package mpi

import "fmt"

// level is how many threads may call MPI: those of MPI_Init_thread, in order.
type level int

const (
	single level = iota
	funneled
	serialized
	multiple
)

var levelNames = [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}

// driver is what is used of MPI, with Go's types. Only text and version may be called
// before initialize; none while another runs.
type driver struct {
	library string // its path
	flavour flavour

	initialized func() (bool, error)
	initialize  func(want level) (got level, err error)
	threads     func() (level, error)
	finalize    func() error

	// quiet makes errors on a communicator returns, where they end the process else.
	quiet    func(comm handle) error
	rank     func(comm handle) (int, error)
	size     func(comm handle) (int, error)
	topTag   func(comm handle) (int, error)
	twin     func(comm handle) (*twin, error)
	send     func(comm handle, b []byte, to, tag int, synchronous bool) (handle, error)
	probe    func(comm handle, from, tag int) (message handle, n int, ok bool, err error)
	receive  func(message handle, b []byte) (handle, error)
	finished func(request *handle) (bool, error)
}

// twin is a communicator that is being duplicated: cell is its handle when request is
// finished, and must be kept until then, since the library writes it.
type twin struct {
	cell    handle
	request handle
}

// Error is an error of the library.
type Error struct {
	Call string // the function
	Code int    // what it returned
	Text string // what MPI_Error_string says of it
}

// Error names the function and says what the library says.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code) }
