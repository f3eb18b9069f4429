// Package tier says which instruction sets the loops outside of kernels/cpu may use: generic,
// which is Go, avx2 and avx512, by what kernels/cpu asks of a processor for its tiers of those
// names. The build tag purego leaves generic alone.
package tier

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Generic, AVX2 and AVX512 are the names, each with all that those before it have.
const (
	Generic = "generic"
	AVX2    = "avx2"
	AVX512  = "avx512"
)

// Here are the tiers that the processor runs, Generic first.
func Here() []string { return append([]string{Generic}, above()...) }

var chosen, refused = choose(Here(), os.Getenv("VOLLEY_CPU"))

// Chosen is the last of Here, or the one that the environment variable VOLLEY_CPU names.
func Chosen() string { return chosen }

// Refused is an error where VOLLEY_CPU names a tier that there is not, as kernels/cpu refuses
// it. Chosen is Generic then.
func Refused() error { return refused }

func choose(here []string, name string) (string, error) {
	switch {
	case name == "":
		return here[len(here)-1], nil
	case slices.Contains(here, name):
		return name, nil
	}
	return Generic, fmt.Errorf("VOLLEY_CPU=%s: the tiers here are %s", name, strings.Join(here, ", "))
}
