package simulate

import "math/bits"

// value is what a tracked position holds: what was combined into it, in four words.
type value struct {
	sum  uint64 // of the contributions' words, in any order
	mul  uint64 // and
	add  uint64 // x -> x*mul + add of each, one after another: does not commute
	tree uint64 // a hash of how they were combined
	n    int32  // contributions; negative for what cannot be right
}

// broken is a value of an operand that was not there.
var broken = value{n: -1 << 30}

func mix(x uint64) uint64 { // splitmix64
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// leaf is what rank r gives at an element of its input.
func leaf(seed uint64, r int, element int64) value {
	h := mix(mix(seed^uint64(r)) + uint64(element))
	return value{sum: h, mul: mix(h) | 1, add: mix(h + 1), tree: mix(h + 2), n: 1}
}

// join combines two values, a on the left.
func join(a, b value) value {
	return value{a.sum + b.sum, a.mul * b.mul, a.add*b.mul + b.add, mix(a.tree) + bits.RotateLeft64(mix(b.tree+1), 17), a.n + b.n}
}

// whole is the value that all ranks' contributions at an element make: the words that
// need an order in that of the ranks, the tree's in that of the canonical one.
func whole(seed uint64, ranks int, element int64) value {
	all := make([]value, ranks)
	for r := range all {
		all[r] = leaf(seed, r, element)
	}
	for w := 1; w < ranks; w *= 2 {
		for a := 0; a+w < ranks; a += 2 * w {
			all[a] = join(all[a], all[a+w])
		}
	}
	return all[0]
}
