//go:build amd64 && !purego

package delimit

import "github.com/volley-go/volley/internal/tier"

// loopsOf are the loops of a tier.
func loopsOf(name string) *Loops {
	switch name {
	case tier.AVX2:
		return &Loops{name, marksAVX2}
	case tier.AVX512:
		return &Loops{name, marksAVX512}
	}
	return &Loops{name, marks}
}
