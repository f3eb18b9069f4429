package cpu

import "github.com/volley-go/volley/kernels"

// loops are the innermost loops of a tier, a field per family; the Go ones are
// always there. The kernels are methods of it, or take it as an argument, and
// call a loop by its field. See the package's comment for how one is added.
type loops struct {
	arithmetic arithmeticLoops
	ask        askLoops
	bitmap     bitmapLoops
	choose     chooseLoops
	compare    compareLoops
	convert    convertLoops
	decimal    decimalLoops
	filter     filterLoops
	hash       hashLoops
	histogram  histogramLoops
	heads32    headLoops[int32]
	heads64    headLoops[int64]
	lines      lineLoops
	reduce     reduceLoops
	matrix32   matrixLoops[float32]
	matrix64   matrixLoops[float64]
	network    networkLoops
	pairs      pairLoops
	peak       peakLoops
	place      placeLoops
	retrace    retraceLoops
	runU32     runLoops[uint32]
	runU64     runLoops[uint64]
	scan32     scanLoops[float32]
	scan64     scanLoops[float64]
	sieve      sieveLoops
	take       takeLoops
	text       textLoops
	unary      unaryLoops
}

// goLoops are the loops in Go: what those of the other tiers are documented by
// and tested against.
func goLoops() *loops {
	return &loops{
		arithmetic: goArithmeticLoops(),
		ask:        goAskLoops(),
		bitmap:     goBitmapLoops(),
		choose:     goChooseLoops(),
		compare:    goCompareLoops(),
		convert:    goConvertLoops(),
		decimal:    goDecimalLoops(),
		filter:     goFilterLoops(),
		hash:       goHashLoops(),
		histogram:  goHistogramLoops(),
		heads32:    goHeadLoops[int32](),
		heads64:    goHeadLoops[int64](),
		lines:      goLineLoops(),
		reduce:     goReduceLoops(),
		matrix32:   goMatrixLoops(wholeTile32),
		matrix64:   goMatrixLoops(wholeTile64),
		network:    goNetworkLoops(),
		pairs:      goPairLoops(),
		peak:       goPeakLoops(),
		place:      goPlaceLoops(),
		retrace:    goRetraceLoops(),
		runU32:     goRunLoops[uint32](),
		runU64:     goRunLoops[uint64](),
		scan32:     goScanLoops[float32](),
		scan64:     goScanLoops[float64](),
		sieve:      goSieveLoops(),
		take:       goTakeLoops(),
		text:       goTextLoops(),
		unary:      goUnaryLoops(),
	}
}

// set is the kernels over these loops.
func (l *loops) set(name string) *kernels.Set {
	s := &kernels.Set{Name: name}
	l.elementwise(s)
	l.movement(s)
	l.reduction(s)
	l.ordering(s)
	l.grouping(s)
	l.joining(s)
	l.matrices(s)
	return s
}
