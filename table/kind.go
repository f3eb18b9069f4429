package table

import (
	"fmt"
	"strings"

	"github.com/volley-go/volley/device"
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
