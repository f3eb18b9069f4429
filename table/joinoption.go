package table

import (
	"fmt"
	"strings"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// Kind is which rows a join keeps.
type Kind int

// The kinds of join. Left is the query that Join is called on.
const (
	Inner Kind = iota // pairs that match
	Left              // and left rows without a match
	Right             // and right rows without a match, after all others
	Full              // both
	Semi              // left rows with a match, once each
	Anti              // left rows without a match
	Cross             // every left row with every right row; no keys
)

var kindNames = [...]string{"inner", "left", "right", "full", "semi", "anti", "cross"}

// kindAliases are the names that other libraries have.
var kindAliases = map[string]Kind{
	"left outer": Left, "right outer": Right, "full outer": Full, "outer": Full,
	"left semi": Semi, "left anti": Anti,
}

// String is the kind's name.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("join kind %d", int(k))
	}
	return kindNames[k]
}

// ParseKind finds a kind by name: inner, left, right, full, semi, anti, cross,
// and those of Arrow, pandas and SQL ("left outer", "full_outer", "outer", "left
// semi"), in any case, with spaces, dashes or underscores.
func ParseKind(name string) (Kind, error) {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '_' || r == '-' }), " ")
	for k, n := range kindNames {
		if n == plain {
			return Kind(k), nil
		}
	}
	if k, ok := kindAliases[plain]; ok {
		return k, nil
	}
	return 0, fmt.Errorf("%w: no join kind %q; there are %s", device.ErrMismatch, name, strings.Join(kindNames[:], ", "))
}

// kernel is the kernels' kind; Cross has none.
func (k Kind) kernel() kernels.JoinKind { return kernels.JoinKind(k) }

// leftOnly reports whether the result has no columns of the right side.
func (k Kind) leftOnly() bool { return k == Semi || k == Anti }

// takesWhere reports whether the join can have a condition beside its keys.
func (k Kind) takesWhere() bool { return k == Inner || k == Left || k.leftOnly() }

// JoinOption says what a join matches on and how.
type JoinOption func(*joinOptions)

type joinOptions struct {
	keys       []keyPair
	suffix     string
	nullsEqual bool
	anyOrder   bool
	where      *expr.Expr
	whereErr   error
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
	Where       *expr.Expr // nil for no condition
}

// SpecOf reads options.
func SpecOf(options ...JoinOption) JoinSpec {
	o := joinOptions{suffix: "_right"}
	for _, f := range options {
		f(&o)
	}
	s := JoinSpec{Suffix: o.suffix, NullsEqual: o.nullsEqual, AnyOrder: o.anyOrder, Where: o.where}
	for _, k := range o.keys {
		s.Left, s.Right = append(s.Left, k.left), append(s.Right, k.right)
	}
	return s
}

// Where is a condition that pairs of equal keys must meet to match, an *expr.Expr of
// bool or its text: "l_suppkey <> l_suppkey_right". A null is no match. It goes with
// inner, left, semi and anti joins. Columns have the names of the result; those of the right
// side have them too in semi and anti joins, as an inner join would name them. Given several
// times, all must be true.
//
// SQL's EXISTS (… where a = b and condition) and IN are semi joins, NOT EXISTS is an anti join. NOT IN is
// an anti join only where no key is null: with a null on the right SQL's NOT IN is true of no row, and no kind
// of join here says that.
func Where(cond any) JoinOption {
	return func(o *joinOptions) {
		e, err := condition(cond)
		if err == nil {
			err = e.Err()
		}
		switch {
		case err != nil:
			if o.whereErr == nil {
				o.whereErr = err
			}
		case o.where == nil:
			o.where = e
		default:
			o.where = o.where.And(e)
		}
	}
}
