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
)

// String is the name as SQL has it.
func (op MatchOp) String() string { return symbol(int(op), "contains", "starts_with", "ends_with") }

// MatchFunc tells for each text of c, of BinaryTypes, whether it contains a
// pattern, or starts or ends with it: as bytes, with no regard to case or to
// where characters begin. Null where c is.
type MatchFunc func(ctx context.Context, s device.Stream, op MatchOp, c *memory.Column, pattern string) (*memory.Column, error)

// Match checks its arguments and runs the set's Match: a bool column, null where
// c is null. Other types than BinaryTypes, another op than the three and a
// backend without the kernel are an ErrUnsupported.
func (b *Backend) Match(ctx context.Context, s device.Stream, op MatchOp, c *memory.Column, pattern string) (mask *memory.Column, err error) {
	const call = "match"
	defer b.guard(call, &err)
	if err := b.present(call, c); err != nil {
		return nil, err
	}
	if _, err := MatchType(op, c.Type()); err != nil {
		return nil, err
	}
	if err := b.admit(ctx, s, call, b.Set.Match != nil, BinaryTypes, c); err != nil {
		return nil, err
	}
	return b.Set.Match(ctx, s, op, c, pattern)
}

// MatchType is bool, or an ErrUnsupported where t is no type of texts or bytes.
func MatchType(op MatchOp, t arrow.DataType) (arrow.DataType, error) {
	if op < Contains || op > EndsWith || !BinaryTypes.Has(t.ID()) {
		return nil, unsupported("%s of %s", op, t)
	}
	return arrow.FixedWidthTypes.Boolean, nil
}
