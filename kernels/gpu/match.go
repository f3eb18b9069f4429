package gpu

import (
	"context"
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// What patterns of match.cl are made of, besides bytes that stand for themselves.
const (
	oneLetter  = 256
	anyLetters = 257
)

// match is the GPU's MatchFunc.
func (e *Engine) match(ctx context.Context, s device.Stream, op kernels.MatchOp, col *memory.Column, pattern string) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := col.Len()
	// What texts contain, begin or end with is bytes, wherever letters begin.
	bytes := op != kernels.Like || kernels.BytesAreLetters(col.Type())
	p, err := patternOf(op, pattern, bytes)
	if err != nil {
		return nil, err
	}
	out := c.result(bitBytes(n))
	c.launch("match", "match_texts", groupsFor(n, compareRows), int32(kindOf(col.Type())), c.data(col), c.bytes(col), c.validity(col),
		c.upload(p.codes), int64(len(p.codes)/2), p.head, p.tail, p.tailLetters, flag(bytes), out, n)
	return c.give(c.boolColumn(out, n, operand{col: col, step: 1})), c.err
}

// textPattern is a pattern as match.cl has it.
type textPattern struct {
	codes       []byte // 16 bits each
	head, tail  int64  // codes before the first anyLetters and behind the last one
	tailLetters int64  // letters of the tail
}

// patternOf is a pattern for match.cl. Letters that a run of wildcards asks for come
// before its anyLetters, so that behind that a byte can be looked for.
func patternOf(op kernels.MatchOp, pattern string, bytes bool) (textPattern, error) {
	text, whatever := kernels.LikePart{Text: pattern}, kernels.LikePart{Any: true}
	var parts []kernels.LikePart
	var err error
	switch {
	case op == kernels.Like:
		parts, err = kernels.ParseLike(pattern, kernels.LikeEscape)
	case pattern == "":
		parts = append(parts, whatever)
	case op == kernels.Contains:
		parts = append(parts, whatever, text, whatever)
	case op == kernels.StartsWith:
		parts = append(parts, text, whatever)
	default:
		parts = append(parts, whatever, text)
	}
	if err != nil {
		return textPattern{}, err
	}
	var codes []uint16
	for _, p := range parts {
		for i := range len(p.Text) {
			codes = append(codes, uint16(p.Text[i]))
		}
		for range p.Letters {
			codes = append(codes, oneLetter)
		}
		if p.Any {
			codes = append(codes, anyLetters)
		}
	}
	return encodePattern(codes, bytes), nil
}

// encodePattern finds the ends of a pattern.
func encodePattern(codes []uint16, bytes bool) textPattern {
	p := textPattern{head: int64(len(codes))}
	if first := slices.Index(codes, anyLetters); first >= 0 {
		last := first
		for i, code := range codes {
			if code == anyLetters {
				last = i
			}
		}
		p.head, p.tail = int64(first), int64(len(codes)-1-last)
		for _, code := range codes[last+1:] {
			if bytes || code == oneLetter || utf8.RuneStart(byte(code)) {
				p.tailLetters++
			}
		}
	}
	for _, code := range codes {
		p.codes = binary.LittleEndian.AppendUint16(p.codes, code)
	}
	return p
}

// substring is the GPU's SubstringFunc: it finds where the parts are, and gathers them.
func (e *Engine) substring(ctx context.Context, s device.Stream, col *memory.Column, from, length int64) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n, width := col.Len(), offsetWidth(col)
	cut, numbers := c.temp(int64(width)*(2*n+1)), c.temp(8*n)
	variant := "substring.i32"
	if width == 8 {
		variant = "substring.i64"
	}
	c.launch(variant, "substring", c.strided(n), c.values(col, width), c.bytes(col), c.validity(col), from-1, length, flag(kernels.BytesAreLetters(col.Type())), cut, numbers, n)
	if !c.ok() {
		return nil, c.err
	}
	parts, err := memory.NewColumn(memory.Parts{
		Type: col.Type(), Len: 2 * n, Place: e.dev.Place(),
		Buffers: []*memory.Buffer{nil, cut.Retain(), col.Buffer(2).Retain()},
	})
	if err != nil {
		return nil, err
	}
	defer parts.Release()
	p := memory.Parts{Type: col.Type(), Len: n, Nulls: memory.UnknownNulls}
	c.gatherLong(&p, parts, rows{vector: vector{numbers, 0}, width: 8, n: n})
	if !c.ok() {
		return nil, c.err
	}
	p.Buffers[0] = c.mergeValidity(n, col)
	return c.give(c.column(p)), c.err
}
