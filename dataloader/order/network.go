package order

// step is how many numbers vectors take at a time.
const step = 16

// network is a Permutation's network as vectors of 64-bit elements go through it.
type network struct {
	right     uint64 // bits of the right half
	mask, low uint64 // of the left half and of the right
	pairs     uint64 // of rounds
	rounds    [manyRounds]round
}

// round is a round in products of 32 bits. With A = 2³²·K + a, which is the half,
// of 32 bits at most, and the key, and B = 2³²·C + c, which is the factor,
//
//	A·B = a·c + 2³²·(a·C + K·c) + 2⁶⁴·K·C
//
// of whose two words of 64 bits the low 32 bits of each are all that the other half,
// of 32 bits at most too, takes:
//
//	low  = a·c
//	high = (a·C + sum + a·c>>32) >> 32, where sum = K·c + K·C<<32
type round struct {
	key   uint64 // its low 32 bits
	c     uint64
	upper uint64 // C
	sum   uint64
}

func (p *Permutation) network() (net network) {
	net.right, net.mask, net.low, net.pairs = uint64(p.right), 1<<p.left-1, 1<<p.right-1, uint64(p.rounds/2)
	for i, key := range p.keys[:p.rounds] {
		factor := uint64(evenFactor)
		if i%2 == 1 {
			factor = oddFactor
		}
		factor ^= key >> 1
		const half = 1<<32 - 1
		c, upper := factor&half, factor>>32
		net.rounds[i] = round{key & half, c, upper, key>>32*c + key>>32*upper<<32}
	}
	return net
}
