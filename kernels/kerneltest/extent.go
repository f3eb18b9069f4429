package kerneltest

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
)

// Extent is how much Run runs. In each of them but Least every type that a
// kernel takes meets every null pattern, every slice offset and every failing
// allocation.
type Extent int

// The extents.
const (
	// Least is for simulators that interpret every work-item: two lengths, one
	// column of several blocks, no faults, and of checks that are alike some.
	Least Extent = iota
	// Tiny is for devices on which a launch takes long: seven lengths, each
	// once, a few thousand rows for many.
	Tiny
	// Brief is each length of Lengths, drawn patterns at each, large columns of
	// one type in eight.
	Brief
	// Full is each length of Lengths with several patterns and offsets, and
	// every type in large columns.
	Full
)

// extentNames are the values of VOLLEY_KERNELTEST.
var extentNames = map[string]Extent{"least": Least, "tiny": Tiny, "brief": Brief, "full": Full}

// extentOf is the extent that the environment asks for, or the one that the test
// does where that is smaller; without either that of a device: Full on the host, Brief on others
// and on the host under the race detector, Tiny where those two come together
// or the device is emulated. Under -short it is Tiny on the host and Least
// on others.
func extentOf(fatalf func(string, ...any), d device.Device, asked *Extent) Extent {
	if text := os.Getenv("VOLLEY_KERNELTEST"); text != "" {
		e, known := extentNames[text]
		if !known {
			fatalf("VOLLEY_KERNELTEST=%q is none of least, tiny, brief and full", text)
		}
		if asked != nil {
			return min(e, *asked)
		}
		return e
	}
	if asked != nil {
		return *asked
	}
	onHost := d.Place().HostAccessible()
	if testing.Short() {
		if onHost {
			return Tiny
		}
		return Least
	}
	e := Full
	if raceDetector {
		e = Brief
	}
	if !onHost {
		e--
		if d.Info().Emulated {
			e = Tiny
		}
	}
	return e
}

// Lengths are the lengths that every type is tried at: around bytes, words,
// vectors, and blocks of them.
var Lengths = []int64{0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257}

// tinyLengths are as many as there are patterns and offsets.
var tinyLengths = []int64{0, 1, 9, 33, 64, 65, 257}

// leastLengths are one block that is not full, and two.
var leastLengths = []int64{33, 300}

// Lengths are the lengths below 1000 rows of the suite's extent.
func (s *Suite) Lengths() []int64 { return s.extent.lengths() }

func (e Extent) lengths() []int64 {
	switch e {
	case Least:
		return leastLengths
	case Tiny:
		return tinyLengths
	}
	if raceDetector {
		return tinyLengths
	}
	return Lengths
}

// Morsel is the number of rows around which the CPU cuts work.
const Morsel = 65536

// Morsel is the rows of a large case: Morsel, less where launches take long.
func (s *Suite) Morsel() int64 {
	if s.morsel != 0 {
		return s.morsel
	}
	switch s.extent {
	case Least:
		return Morsel / 256
	case Tiny:
		return Morsel / 16
	}
	return Morsel
}

// Long is the rows of the one case of several morsels that every kernel has, of
// the first type: make it one of those for Faults, which then holds a call on
// the host to looking at its context between morsels.
func (s *Suite) Long() int64 { return 3*s.Morsel() + 17 }

// cases are the small cases of one type. But for Full, patterns and offsets are
// dealt out like cards, so that seven cases have met them all. The race detector gets
// Tiny's: below 1000 rows no goroutine is started, and a call is arithmetic.
func (e Extent) cases(r *rand.Rand, t arrow.DataType) []Case {
	var all []Case
	if e == Full {
		for _, n := range Lengths {
			all = append(all, Case{Type: t, Length: n})
			for range 2 {
				all = append(all, Case{Type: t, Length: n, Nulls: Pattern(r.IntN(int(patternCount))), Offset: offsets[r.IntN(len(offsets))]})
			}
		}
		return all
	}
	patterns, starts := r.Perm(int(patternCount)), r.Perm(len(offsets))
	deal := func(n int64) {
		k := len(all)
		if k%len(patterns) == 0 {
			r.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
		}
		all = append(all, Case{Type: t, Length: n, Nulls: Pattern(patterns[k%len(patterns)]), Offset: offsets[starts[k%len(starts)]]})
	}
	if e <= Tiny || raceDetector {
		for _, n := range e.lengths() {
			deal(n)
		}
		return all
	}
	for _, n := range Lengths {
		deal(n)
		if n >= 63 {
			deal(n)
			deal(n)
		}
	}
	return all
}
