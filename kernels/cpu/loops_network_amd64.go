//go:build amd64 && !purego

package cpu

func (l *networkLoops) avx2() { l.sort = network(network8AVX2, network16AVX2, network32AVX2) }

func (l *networkLoops) avx512() { l.sort = network(network8AVX512, network16AVX512, network32AVX512) }

// network is the network for as many values as there are.
func network(of8, of16, of32 func(v []uint64)) func(v []uint64) {
	return func(v []uint64) {
		switch len(v) {
		case 8:
			of8(v)
		case 16:
			of16(v)
		default:
			of32(v)
		}
	}
}
