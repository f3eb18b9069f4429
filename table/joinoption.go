package table

// JoinOption says what a join matches on and how.
type JoinOption func(*joinOptions)

type joinOptions struct {
	keys       []keyPair
	suffix     string
	nullsEqual bool
	anyOrder   bool
}

type keyPair struct{ left, right string }

// Keys matches a column of the left side with one of the right. Given several
// times, all pairs must match. Both columns are in the result, except that of
// two of one name there is one, which has the value of the side that has a row.
func Keys(left, right string) JoinOption {
	return func(o *joinOptions) { o.keys = append(o.keys, keyPair{left, right}) }
}

// On matches columns that have one name on both sides.
func On(names ...string) JoinOption {
	return func(o *joinOptions) {
		for _, n := range names {
			o.keys = append(o.keys, keyPair{n, n})
		}
	}
}

// Suffix is put behind the name of a right column where the left side has one
// of that name; "_right" if not given.
func Suffix(s string) JoinOption { return func(o *joinOptions) { o.suffix = s } }

// NullsEqual lets null match null; without it a null key matches nothing.
func NullsEqual() JoinOption { return func(o *joinOptions) { o.nullsEqual = true } }

// AnyOrder gives the rows in whatever order is fastest, instead of left order
// and then right order.
func AnyOrder() JoinOption { return func(o *joinOptions) { o.anyOrder = true } }

// JoinSpec is what options of a join say.
type JoinSpec struct {
	Left, Right []string // the key columns of the two sides, pair by pair
	Suffix      string
	NullsEqual  bool
	AnyOrder    bool
}

// SpecOf reads options.
func SpecOf(options ...JoinOption) JoinSpec {
	o := joinOptions{suffix: "_right"}
	for _, f := range options {
		f(&o)
	}
	s := JoinSpec{Suffix: o.suffix, NullsEqual: o.nullsEqual, AnyOrder: o.anyOrder}
	for _, k := range o.keys {
		s.Left, s.Right = append(s.Left, k.left), append(s.Right, k.right)
	}
	return s
}
