// Package guard gives out test memory that notices what ordinary memory
// forgives: every block lies against unmapped memory where the system has such
// (Linux), everything round it is poisoned and looked at again when it is
// freed, and its contents begin as poison, so that code which counts on zeros
// fails. Memory that was freed is unmapped.
//
// A touch of unmapped memory ends the test binary with the stack of the code
// that did it; everything else is told by Close.
package guard

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// Poison is what fresh and surrounding memory is filled with: as bits mostly
// set, as an integer negative and large, as a float tiny, as an offset or index
// far out of range.
const Poison = 0xB7

// Mode says which end of a block lies against unmapped memory.
type Mode int

const (
	// Tail blocks end, padding included, where unmapped memory begins: code that
	// runs past the padding faults.
	Tail Mode = iota
	// Head blocks begin where unmapped memory ends: code that runs ahead of the
	// first byte faults.
	Head
)

// String is "tail" or "head".
func (m Mode) String() string {
	if m == Head {
		return "head"
	}
	return "tail"
}

// live is a block that was given out.
type live struct {
	size  int64
	sites [8]uintptr // who asked
	count int
	end   func() error // looks at the poison and gives the memory back
}

func newLive(size int64, end func() error) live {
	l := live{size: size, end: end}
	l.count = runtime.Callers(3, l.sites[:])
	return l
}

// where names the callers that asked for a block, the nearest first.
func (l live) where() string {
	var b strings.Builder
	frames := runtime.CallersFrames(l.sites[:l.count])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.Contains(f.File, "/memory/buffer.go") {
			fmt.Fprintf(&b, "\n\t%s (%s:%d)", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// key is what a block is known by.
func key(b memory.Block) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes))) }

// Fill sets all bytes to v, a copy at a time: under the race detector a loop over bytes takes a hundred times as long.
func Fill(b []byte, v byte) {
	if len(b) == 0 {
		return
	}
	b[0] = v
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// poison fills bytes.
func poison(b []byte) { Fill(b, Poison) }

// intact is what untouched bytes are held against, a piece at a time.
var intact = func() (p [4096]byte) {
	poison(p[:])
	return p
}()

// Spoiled finds the first byte that is not Poison any more, -1 if there is
// none.
func Spoiled(b []byte) int {
	for from := 0; from < len(b); from += len(intact) {
		piece := b[from:min(from+len(intact), len(b))]
		if bytes.Equal(piece, intact[:len(piece)]) {
			continue
		}
		for i, v := range piece {
			if v != Poison {
				return from + i
			}
		}
	}
	return -1
}

// around checks the poison before and after a block.
func around(before, after []byte) error {
	if Spoiled(before) >= 0 {
		i := len(before) - 1 // the nearest to the block tells most
		for before[i] == Poison {
			i--
		}
		return fmt.Errorf("byte %d was overwritten with %#x", i-len(before), before[i])
	}
	if i := Spoiled(after); i >= 0 {
		return fmt.Errorf("byte %d after the padding was overwritten with %#x", i, after[i])
	}
	return nil
}
