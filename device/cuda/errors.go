package cuda

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// The CUresult values that are told apart.
const (
	success            code = 0
	errorInvalidValue  code = 1
	errorOutOfMemory   code = 2
	errorDeinitialized code = 4
	errorNoDevice      code = 100
	errorNotReady      code = 600
	errorPeerEnabled   code = 704
	errorUnknown       code = 999
)

// lostCodes are the results after which a context answers nothing else: the GPU
// faulted, was reset or fell off the bus.
var lostCodes = []code{
	errorDeinitialized,
	201, // invalid context
	214, // uncorrectable ECC error
	220, // uncorrectable NVLink error
	700, // illegal address
	702, // launch timed out
	709, // context is destroyed
	710, // assertion in a kernel
	714, // stack error
	715, // illegal instruction
	716, // misaligned address
	717, // invalid address space
	718, // invalid program counter
	719, // launch failed
	errorUnknown,
}

func (c code) lost() bool { return slices.Contains(lostCodes, c) }

// kind is the kind of error of a result.
func (c code) kind() error {
	switch c {
	case errorInvalidValue, 701: // 701: more registers or threads than there are
		return device.ErrMismatch
	case errorOutOfMemory:
		return device.ErrOutOfMemory
	case 3, 34, 46, errorNoDevice, 101, 500, 802, 803, 804, 805: // not initialised, a stub, busy, no such device or symbol, driver and library disagree
		return device.ErrUnavailable
	case 200, 209, 218, 221, 222, 223, 801: // images that the driver does not take, and what it cannot do
		return device.ErrUnsupported
	}
	if c.lost() {
		return device.ErrLost
	}
	return nil
}

// text is the driver's own words for a result.
func (d *driver) text(c code) string {
	words, name := d.errorString(c), d.errorName(c)
	switch {
	case words == "" && name == "":
		return "an error that the driver has no words for"
	case words == "":
		return name
	case name == "":
		return words
	}
	return words + " (" + name + ")"
}

// failure makes the error of a call from its result, nil for success.
func (d *driver) failure(name, call string, c code) error {
	if c == success {
		return nil
	}
	return &device.Error{Device: name, Call: call, Code: int(c), Text: d.text(c), Kind: c.kind()}
}

// check is the error of a call on the device. A result that means that the
// device is lost is kept, so that every later call returns it.
func (d *Device) check(call string, c code) error {
	if c == success {
		return nil
	}
	if c == errorTornDown {
		return d.closedError(call)
	}
	if !c.lost() {
		return d.lib.driver.failure(d.name, call, c)
	}
	return d.lose(call, c)
}

// lose marks the device lost, unless it is already, and returns why.
func (d *Device) lose(call string, c code) error {
	if e := d.context.lost.Load(); e != nil {
		return e
	}
	launches := d.lib.inFlight(d.context)
	text := d.lib.driver.text(c)
	// The launches before the last were done when they returned. Who waits on another goroutine may see the loss before the launch returns.
	if n := len(launches); n > 0 && os.Getenv("CUDA_LAUNCH_BLOCKING") == "1" && (launches[n-1] == call || !slices.Contains(launches, call)) {
		launches = launches[n-1:]
	}
	switch {
	case len(launches) == 1:
		if call != launches[0] {
			text += "; found by " + call
		}
		call = launches[0]
	case len(launches) > 1:
		const most = 8
		more := ""
		if len(launches) > most {
			more = fmt.Sprintf(" and %d more", len(launches)-most)
			launches = launches[:most]
		}
		text += fmt.Sprintf("; found by %s, caused by one of the launches in flight, the oldest first: %s%s (CUDA_LAUNCH_BLOCKING=1 tells which)",
			call, strings.Join(launches, ", "), more)
		call = launches[0]
	}
	d.context.lost.CompareAndSwap(nil, &device.Error{Device: d.name, Call: call, Code: int(c), Text: text, Kind: device.ErrLost})
	return d.context.lost.Load()
}

// outOfMemory says what was asked for and what there was.
func (d *Device) outOfMemory(call string, place memory.Place, size, free, total int64) error {
	return &device.Error{Device: d.name, Call: call, Code: int(errorOutOfMemory), Kind: device.ErrOutOfMemory,
		Cause: &memory.OutOfMemory{Place: place, Requested: size, InUse: total - free, Limit: total}}
}

func (d *Device) mismatch(call, format string, args ...any) error {
	return device.Errorf(device.ErrMismatch, d.name, call, format, args...)
}

func (d *Device) closedError(call string) error {
	return device.Errorf(device.ErrClosed, d.name, call, "the device is closed")
}
