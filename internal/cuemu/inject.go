package cuemu

import (
	"errors"
	"os"
	"unsafe"

	"github.com/volley-go/volley/internal/dl"
)

// ErrReal is what Fail and Count return where the driver is the machine's own:
// nothing is broken on purpose there.
var ErrReal = errors.New("the CUDA driver is a real one")

// Fail makes the nth call from now on of an entry point of the driver return a
// code; the name "execute" stands for the run of a kernel on its stream. An nth
// of 0 takes back what was injected for the name.
func Fail(name string, nth, code int) error {
	f, err := own("cuemuFail")
	if err != nil {
		return err
	}
	text := append([]byte(name), 0)
	_ = dl.Call(f, uintptr(unsafe.Pointer(&text[0])), uintptr(nth), uintptr(code))
	return nil
}

// Count is how many of a kind the driver has given out: "streams", "events",
// "modules", "allocations", "pinned", "registered", "bytes"; or, since it was
// loaded, "launches".
func Count(kind string) (int64, error) {
	f, err := own("cuemuCount")
	if err != nil {
		return 0, err
	}
	text := append([]byte(kind), 0)
	return int64(dl.Call(f, uintptr(unsafe.Pointer(&text[0])))), nil
}

// own is a function that only the emulated driver has.
func own(name string) (uintptr, error) {
	lib, err := dl.Open(os.Getenv(driverVariable))
	if err != nil {
		return 0, err
	}
	if f := lib.Optional(name); f != 0 {
		return f, nil
	}
	return 0, ErrReal
}
