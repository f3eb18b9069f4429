package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// Apply is the function of that name, which kernels.Register made known, of
// args: an *Expr each, or a value as Lit takes it. In text it is name(args).
func Apply(name string, args ...any) *Expr {
	all := make([]*Expr, len(args))
	for i, a := range args {
		all[i] = of(a)
	}
	return apply(name, all)
}

func apply(name string, args []*Expr) *Expr {
	e := call(OpApply, args...)
	e.name = name
	return e
}

// apply binds a user's function: arguments that fit its types are converted, as
// those of other operations are.
func (b *binder) apply(name string, args []int) (int, error) {
	fn, ok := kernels.Registered(name)
	if !ok {
		return 0, fmt.Errorf("%w: no function %s is registered", device.ErrMismatch, name)
	}
	if len(args) != len(fn.Args()) {
		return 0, fmt.Errorf("%w: %s takes %d arguments, not %d", device.ErrMismatch, name, len(fn.Args()), len(args))
	}
	for i, t := range fn.Args() {
		if v, lit := b.constant(args[i]); lit {
			if v, fits := adapt(v, t, false); fits {
				args[i] = b.literal(v)
				continue
			}
		}
		args[i] = b.decoded(args[i])
		have := b.typ(args[i])
		if arrow.TypeEqual(have, t) {
			continue
		}
		if wide, err := commonType(have, t); err != nil || !arrow.TypeEqual(wide, t) {
			return 0, fmt.Errorf("%w: argument %d of %s is of type %s, not %s: cast it", device.ErrMismatch, i+1, name, TypeName(t), TypeName(have))
		}
		args[i] = b.widen(args[i], t)
	}
	return b.add(node{kind: KindCall, op: OpApply, typ: fn.Result(), args: args, fn: fn}), nil
}
