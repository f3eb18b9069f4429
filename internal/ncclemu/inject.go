package ncclemu

import (
	"errors"
	"os"

	"github.com/volley-go/volley/internal/dl"
)

// ErrReal is what the functions below return where the library is the machine's own.
var ErrReal = errors.New("the NCCL is a real one")

// Fault makes the library report a result as the state of all communicators of a rank;
// 0 takes that back.
func Fault(rank, code int) error {
	_, err := call("ncclemuFault", uintptr(rank), uintptr(code))
	return err
}

// Hang makes ncclCommAbort stay in its call until it is taken back.
func Hang(yes bool) error {
	var n uintptr
	if yes {
		n = 1
	}
	_, err := call("ncclemuHang", n)
	return err
}

// Comms is how many communicators there are.
func Comms() (int, error) {
	n, err := call("ncclemuComms")
	return int(n), err
}

// Calls is how many operations were given to the library since it was loaded.
func Calls() (int, error) {
	n, err := call("ncclemuCalls")
	return int(n), err
}

func call(name string, args ...uintptr) (uintptr, error) {
	lib, err := dl.Open(os.Getenv(variable))
	if err != nil {
		return 0, err
	}
	f := lib.Optional(name)
	if f == 0 {
		return 0, ErrReal
	}
	return dl.Call(f, args...), nil
}
