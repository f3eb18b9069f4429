package pmix

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// driver is what is used of the library. The int32 of each is its pmix_status_t.
type driver struct {
	path, version string
	// once says that a second PMIx_Init after PMIx_Finalize corrupts the library's memory, as
	// OpenPMIx 5.0.11's does, also in a C program; left that PMIx_Finalize was called.
	once bool
	left atomic.Bool
	// met is how many exchanges of this process have come about.
	met  atomic.Int64
	near atomic.Pointer[[]int] // from the first one on: the ranks of this one's server, with this one

	initialize func(self *proc) int32
	finalize   func() int32
	// get gives a value of a process's, of which bytes are a copy.
	get    func(of *proc, key string, with []info) (v value, bytes []byte, code int32)
	put    func(key string, bytes []byte) int32
	commit func() int32
	fence  func(of []proc, with []info) int32 // of all ranks where none are named
	text   func(code int32) string            // what the library says of a status
}

// Error is a call of the library that failed.
type Error struct {
	Call string // the function
	Code int    // its pmix_status_t
	Text string // what PMIx_Error_string says of it
	What string // what the call was for
}

// Error names the function, what it was for and what the library says.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%s): %s (%d)", e.Call, e.What, e.Text, e.Code)
}

func isCode(err error, code int) bool {
	var failed *Error
	return errors.As(err, &failed) && failed.Code == code
}
