package cpu

// networkRows is the most values that a sorting network takes.
const networkRows = 32

// networkLoops sort few numbers: those of rows that a pass by digits has
// brought together. Values are below 2^63, and there are 8, 16 or 32 of them:
// what is less is filled up with greater ones. In assembly they never leave the
// registers, and no comparison is a branch: instructions are the limit, three
// a value and 32 of them.
type networkLoops struct {
	sort func(v []uint64)
}

func goNetworkLoops() networkLoops { return networkLoops{sort: insertWords} }

// insertWords sorts values by insertion.
func insertWords(v []uint64) {
	for i := 1; i < len(v); i++ {
		w, j := v[i], i
		for ; j > 0 && v[j-1] > w; j-- {
			v[j] = v[j-1]
		}
		v[j] = w
	}
}
