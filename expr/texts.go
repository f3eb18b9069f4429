package expr

import (
	"fmt"
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
)

// Contains is whether a text has the pattern, a literal, in it: as bytes.
func (e *Expr) Contains(pattern any) *Expr { return call(OpContains, e, of(pattern)) }

// StartsWith is whether a text begins with the pattern.
func (e *Expr) StartsWith(pattern any) *Expr { return call(OpStartsWith, e, of(pattern)) }

// EndsWith is whether a text ends with the pattern.
func (e *Expr) EndsWith(pattern any) *Expr { return call(OpEndsWith, e, of(pattern)) }

// Like is whether the whole text is as the pattern, a literal, says: in it % stands
// for any number of letters, also for none, and _ for one letter. A letter is a Unicode code
// point; case matters. Without an escape no letter takes the meaning of the two away;
// the letter behind an escape, a text of one letter, stands for itself.
func (e *Expr) Like(pattern any, escape ...any) *Expr {
	args := []*Expr{e, of(pattern)}
	for _, v := range escape {
		args = append(args, of(v))
	}
	return call(OpLike, args...)
}

// NotLike is Like turned round; null stays null.
func (e *Expr) NotLike(pattern any, escape ...any) *Expr { return e.Like(pattern, escape...).Not() }

// Substring is the letters of a text from number from on, the first being 1: length of
// them, or without a length all. Both are literals: from is at least 1, length at least
// 0. Where the text has fewer letters the rest is left out. A letter is a Unicode code point,
// of binary columns a byte.
func (e *Expr) Substring(from any, length ...any) *Expr {
	args := []*Expr{e, of(from)}
	for _, v := range length {
		args = append(args, of(v))
	}
	return call(OpSubstring, args...)
}

// match binds a search for a literal in texts.
func (b *binder) match(op Op, args []int) (int, error) {
	pattern, ok := b.constant(args[1])
	if !ok || !pattern.Valid() || !kernels.BinaryTypes.Has(pattern.Type().ID()) {
		return 0, fmt.Errorf("%w: %s looks for a text literal", device.ErrMismatch, op)
	}
	args[0] = b.decoded(args[0])
	t, err := kernels.MatchType(kernels.MatchOp(op-OpContains), b.typ(args[0]))
	if err != nil {
		return 0, err
	}
	return b.call(op, t, args...), nil
}

// like binds a pattern: one of few wildcards as the comparison or the search that it is.
func (b *binder) like(args []int) (int, error) {
	var given [2]string
	for i, a := range args[1:] {
		v, ok := b.constant(a)
		if !ok || !v.Valid() || !kernels.BinaryTypes.Has(v.Type().ID()) {
			return 0, fmt.Errorf("%w: the pattern and the escape of like are text literals", device.ErrMismatch)
		}
		given[i] = v.Text()
	}
	if len(args) == 3 && given[1] == "" {
		return 0, fmt.Errorf("%w: the escape of like is one letter, not an empty text", device.ErrMismatch)
	}
	x := b.decoded(args[0])
	t, err := kernels.MatchType(kernels.Like, b.typ(x))
	if err != nil {
		return 0, err
	}
	parts, err := kernels.ParseLike(given[0], given[1])
	if err == nil {
		err = kernels.CheckLike(b.typ(x), kernels.LikeText(parts))
	}
	if err != nil {
		return 0, err
	}
	literal := func(text string) int { return b.literal(kernels.Text(b.typ(x), text)) }
	any := func(i int) bool { return i < len(parts) && parts[i] == kernels.LikePart{Any: true} }
	isText := func(i int) bool { return i < len(parts) && parts[i].Text != "" }
	switch n := len(parts); {
	case n == 0:
		return b.call(OpEq, t, x, literal("")), nil
	case n == 1 && isText(0):
		return b.call(OpEq, t, x, literal(parts[0].Text)), nil
	case n == 1 && any(0):
		return b.call(OpStartsWith, t, x, literal("")), nil
	case n == 2 && isText(0) && any(1):
		return b.call(OpStartsWith, t, x, literal(parts[0].Text)), nil
	case n == 2 && any(0) && isText(1):
		return b.call(OpEndsWith, t, x, literal(parts[1].Text)), nil
	case n == 3 && any(0) && isText(1) && any(2):
		return b.call(OpContains, t, x, literal(parts[1].Text)), nil
	}
	return b.call(OpLike, t, x, literal(kernels.LikeText(parts))), nil
}

// substring binds a part of texts: with a length in any case.
func (b *binder) substring(args []int) (int, error) {
	whole := [2]int64{1, math.MaxInt64}
	for i, a := range args[1:] {
		v, ok := b.constant(a)
		if !ok || !v.Valid() || !kernels.IntegerTypes.Has(v.Type().ID()) {
			return 0, fmt.Errorf("%w: substring is cut by literals that are whole numbers", device.ErrMismatch)
		}
		whole[i] = v.Int64()
		if kernels.UnsignedTypes.Has(v.Type().ID()) {
			whole[i] = int64(min(v.Uint64(), math.MaxInt64))
		}
	}
	x := b.decoded(args[0])
	t, err := kernels.SubstringType(b.typ(x), whole[0], whole[1])
	if err != nil {
		return 0, err
	}
	return b.call(OpSubstring, t, x, b.literal(kernels.Int64(whole[0])), b.literal(kernels.Int64(whole[1]))), nil
}
