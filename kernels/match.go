package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// MatchOp is a question about a text and a pattern.
type MatchOp int

// The questions. The empty pattern is in every text, at its start and at its end.
const (
	Contains MatchOp = iota
	StartsWith
	EndsWith
	Like // the whole text is as a pattern of SQL's LIKE says, see ParseLike
)

// LikeEscape is the letter before a %, a _ or itself that takes their meaning from
// them in patterns of Like, as Match has them.
const LikeEscape = `\`

// String is the name as SQL has it.
func (op MatchOp) String() string {
	return symbol(int(op), "contains", "starts_with", "ends_with", "like")
}

// MatchFunc tells for each text of c, of BinaryTypes, whether it contains a
// pattern, or starts or ends with it: as bytes, with no regard to case or to
// where characters begin. Like reads the pattern by ParseLike with LikeEscape; its
// letters are Unicode code points, in a column of bytes single bytes. Null where c is.
type MatchFunc func(ctx context.Context, s device.Stream, op MatchOp, c *memory.Column, pattern string) (*memory.Column, error)

// Match checks its arguments and runs the set's Match: a bool column, null where
// c is null. Other types than BinaryTypes, an unknown op and a backend without the
// kernel are an ErrUnsupported; a pattern of Like that ParseLike refuses, or that
// is no UTF-8 while c has texts, is an ErrMismatch.
func (b *Backend) Match(ctx context.Context, s device.Stream, op MatchOp, c *memory.Column, pattern string) (mask *memory.Column, err error) {
	const call = "match"
	defer b.guard(call, &err)
	if err := b.present(call, c); err != nil {
		return nil, err
	}
	if _, err := MatchType(op, c.Type()); err != nil {
		return nil, err
	}
	if err := b.admit(ctx, s, call, b.Set.Match.Func != nil, b.Set.Match.Types, c); err != nil {
		return nil, err
	}
	if op == Like {
		if err := CheckLike(c.Type(), pattern); err != nil {
			return nil, err
		}
	}
	return b.Set.Match.Func(ctx, s, op, c, pattern)
}

// MatchType is bool, or an ErrUnsupported where t is no type of texts or bytes.
func MatchType(op MatchOp, t arrow.DataType) (arrow.DataType, error) {
	if op < Contains || op > Like || !BinaryTypes.Has(t.ID()) {
		return nil, unsupported("%s of %s", op, t)
	}
	return arrow.FixedWidthTypes.Boolean, nil
}
