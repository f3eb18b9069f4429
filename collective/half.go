package collective

import "github.com/volley-go/volley/collective/internal/half"

// fromHalf widens an IEEE 754 binary16 number; every one has an exact float32.
func fromHalf(h uint16) float32 { return half.Widen(h) }

// toHalf rounds to the nearest, ties to even; what is too large becomes infinite.
func toHalf(f float32) uint16 { return half.Round(f) }
