//go:build amd64 && !purego

package bitpack

import "github.com/volley-go/volley/internal/tier"

// loopsOf are the loops of a tier.
func loopsOf(name string) *Loops {
	switch name {
	case tier.AVX2:
		return &Loops{Name: name, lookUp: lookUpAVX2, unpack: unpackAVX2, rows: rowsAVX2, placed: placedAVX2, pick: filter32AVX2, step: 8}
	case tier.AVX512:
		return &Loops{Name: name, lookUp: lookUpAVX2, unpack: unpackAVX512, rows: rowsAVX512, placed: placedAVX512, spread: spreadAVX512, pick: filter32AVX512, step: 16, partly: true}
	}
	return &Loops{Name: name}
}
