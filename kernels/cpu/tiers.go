package cpu

import (
	"fmt"
	"os"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
)

// tier is the kernels for an instruction set.
type tier struct {
	name    string
	missing []string     // what the processor has not got of it
	apply   func(*loops) // overwrites the loops of the tier below that this one does better
}

// available are the tiers that the processor runs, the least first, as loops:
// each is a copy of the one below with some overwritten.
func available() (names []string, all []*loops) {
	l := goLoops()
	names, all = append(names, "generic"), append(all, l)
	for _, t := range tiersAbove() {
		if len(t.missing) > 0 {
			break
		}
		next := *l
		t.apply(&next)
		l = &next
		names, all = append(names, t.name), append(all, l)
	}
	return names, all
}

// Tiers are the tiers that this build has and this processor runs, the least,
// generic, first and the best last. Each is a value of its own: what is
// overwritten in one changes no other.
func Tiers() []*kernels.Set {
	names, all := available()
	sets := make([]*kernels.Set, len(all))
	for i, l := range all {
		sets[i] = l.set(names[i])
	}
	return sets
}

// New puts the CPU's kernels on a host device: the best tier that the
// processor runs, or the one that the environment variable VOLLEY_CPU names
// (generic, avx2, avx512). A name that this build or processor has not got is an
// ErrUnavailable that says what is missing, and so is a VOLLEY_THREADS that is no number.
func New(d device.Device) (*kernels.Backend, error) {
	if err := processors.Err(); err != nil {
		return nil, &device.Error{Device: d.Name(), Call: "open", Kind: device.ErrUnavailable, Cause: err}
	}
	sets, want := Tiers(), os.Getenv("VOLLEY_CPU")
	if want == "" {
		return &kernels.Backend{Device: d, Set: sets[len(sets)-1]}, nil
	}
	var have []string
	for _, set := range sets {
		if set.Name == want {
			return &kernels.Backend{Device: d, Set: set}, nil
		}
		have = append(have, set.Name)
	}
	why := ""
	for _, t := range tiersAbove() {
		if t.name == want || len(t.missing) > 0 {
			why += fmt.Sprintf("; for %s the processor lacks %s", t.name, strings.Join(t.missing, ", "))
		}
	}
	return nil, device.Errorf(device.ErrUnavailable, d.Name(), "open", "VOLLEY_CPU=%s: the tiers here are %s%s", want, strings.Join(have, ", "), why)
}
