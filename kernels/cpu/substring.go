package cpu

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// substring is the CPU's SubstringFunc.
func substring(ctx context.Context, s device.Stream, c *memory.Column, from, length int64) (*memory.Column, error) {
	if memory.LayoutOf(c.Type()) == memory.LayoutBinary {
		return substrings[int32](ctx, s, c, from, length)
	}
	return substrings[int64](ctx, s, c, from, length)
}

func substrings[T int32 | int64](ctx context.Context, s device.Stream, c *memory.Column, from, length int64) (*memory.Column, error) {
	o := newOut(s, c.Type(), c.Len())
	if err := o.nullsOf(c); err != nil {
		return o.column(err)
	}
	valid, t := o.valid(), textsOf[T](c)
	cut := func(text []byte) []byte { return cutLetters(text, from, length) }
	if c.Type().ID() == arrow.BINARY || c.Type().ID() == arrow.LARGE_BINARY {
		cut = func(text []byte) []byte {
			start := min(from-1, int64(len(text)))
			return text[start : start+min(length, int64(len(text))-start)]
		}
	}
	return o.column(buildText(ctx, o, func(_ int, s span, lengths []T) {
		for i := range lengths {
			lengths[i] = 0
			if row := s.from + int64(i); rowIn(valid, row) {
				lengths[i] = T(len(cut(t.at(row))))
			}
		}
	}, func(_ int, s span, data []byte) {
		for i := s.from; i < s.to; i++ {
			if rowIn(valid, i) {
				data = data[copy(data, cut(t.at(i))):]
			}
		}
	}))
}

// cutLetters is length letters of a text from number from on, counted from 1.
func cutLetters(text []byte, from, length int64) []byte {
	text = text[lettersLen(text, from-1):]
	return text[:lettersLen(text, length)]
}

// lettersLen is how many bytes the first n letters have, or all where there are fewer.
func lettersLen(text []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		if text[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}
