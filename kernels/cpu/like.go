package cpu

import (
	"bytes"
	"context"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// likePattern is a pattern of LIKE as its pieces between %: the first begins the text,
// the last ends it, the others are looked for in turn. Each is taken at the first place
// that it fits, so that no place is tried again for another piece.
type likePattern struct {
	pieces  []likePiece // one where the pattern has no %, else at least two
	asBytes bool        // letters are bytes
	first   bool        // prefilter is what texts begin with, not what is in them
	// prefilter is a text that all texts have that are like the pattern; nil where there is none.
	prefilter []byte
}

// likePiece is texts and numbers of letters in turn.
type likePiece struct {
	items   []likeItem
	letters int // in all
}

// likeItem is a text, or where it is nil so many letters.
type likeItem struct {
	text    []byte
	letters int
}

// likeOf cuts a pattern for columns of type t. The letters of a run of wildcards with a
// % go before it: then a piece behind a % begins with a text, which can be searched.
func likeOf(t arrow.DataType, pattern string) (*likePattern, error) {
	parts, err := kernels.ParseLike(pattern, kernels.LikeEscape)
	if err != nil {
		return nil, err
	}
	p := &likePattern{pieces: make([]likePiece, 1), asBytes: t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY}
	for _, part := range parts {
		last := &p.pieces[len(p.pieces)-1]
		if part.Text != "" {
			last.items = append(last.items, likeItem{text: []byte(part.Text)})
			last.letters += lettersIn([]byte(part.Text), p.asBytes)
			continue
		}
		if part.Letters > 0 {
			last.items = append(last.items, likeItem{letters: part.Letters})
			last.letters += part.Letters
		}
		if part.Any {
			p.pieces = append(p.pieces, likePiece{})
		}
	}
	p.choosePrefilter()
	return p, nil
}

func lettersIn(text []byte, asBytes bool) int {
	if asBytes {
		return len(text)
	}
	return utf8.RuneCount(text)
}

// choosePrefilter takes what the pattern begins with, which is looked at in a few bytes of
// each text, or else its longest text.
func (p *likePattern) choosePrefilter() {
	if items := p.pieces[0].items; len(items) > 0 && items[0].text != nil {
		p.prefilter, p.first = items[0].text, true
		return
	}
	for _, piece := range p.pieces {
		for _, item := range piece.items {
			if len(item.text) > len(p.prefilter) {
				p.prefilter = item.text
			}
		}
	}
}

// likeStop is how many places are looked at before the context is asked.
const likeStop = 1 << 20

// likeMatcher tells which texts of a morsel are like a pattern: first all of them at once
// whether they have one text of it, then those that do one by one.
func likeMatcher[T int32 | int64](l *loops, dst memory.Bitmap, c *memory.Column, p *likePattern) func(context.Context, span) error {
	t := textsOf[T](c)
	filter := func(_ context.Context, m span) error {
		dst.Fill(m.from, m.to-m.from, true)
		return nil
	}
	switch {
	case len(p.prefilter) == 0:
	case p.first:
		filter = matcher[T](l, kernels.StartsWith, dst, c, p.prefilter)
	default:
		filter = matcher[T](l, kernels.Contains, dst, c, p.prefilter)
	}
	return func(ctx context.Context, m span) error {
		if err := filter(ctx, m); err != nil {
			return err
		}
		search := likeSearch{likePattern: p, ctx: ctx}
		for i := m.from; i < m.to; i += 64 {
			n := min(64, m.to-i)
			w := dst.Word(i, n)
			for todo := w; todo != 0; todo &= todo - 1 {
				text := t.at(i + int64(bits.TrailingZeros64(todo)))
				if !search.match(text) {
					w &^= todo & -todo
				}
				if search.places += len(text) / 8; search.places >= likeStop {
					search.ask()
				}
			}
			if search.err != nil {
				return search.err
			}
			storeWord(dst, i, n, w)
		}
		return nil
	}
}

// likeSearch holds texts against a pattern.
type likeSearch struct {
	*likePattern
	ctx    context.Context
	places int // looked at since the context was asked
	err    error
}

// ask looks whether the context has ended.
func (s *likeSearch) ask() {
	s.places = 0
	if s.err == nil {
		s.err = device.Canceled(s.ctx, "cpu", "")
	}
}

// match tells whether a text is like the pattern.
func (s *likeSearch) match(text []byte) bool {
	at := s.take(&s.pieces[0], text, 0)
	last := len(s.pieces) - 1
	if at < 0 || last == 0 {
		return at == len(text)
	}
	for i := 1; i < last; i++ {
		if at = s.find(&s.pieces[i], text, at); at < 0 {
			return false
		}
	}
	end := &s.pieces[last]
	from := s.back(text, end.letters)
	return from >= at && s.take(end, text, from) == len(text)
}

// take gives where a piece ends that begins at a place; -1 where it is not there.
func (s *likeSearch) take(p *likePiece, text []byte, at int) int {
	for _, item := range p.items {
		switch {
		case item.text == nil:
			if at = s.skip(text, at, item.letters); at < 0 {
				return -1
			}
		case !bytes.HasPrefix(text[at:], item.text):
			return -1
		default:
			at += len(item.text)
		}
	}
	return at
}

// find gives where a piece ends that is at a place or behind it, at the first place that
// there is; -1 where there is none.
func (s *likeSearch) find(p *likePiece, text []byte, at int) int {
	if len(p.items) == 0 {
		return at
	}
	for {
		next := bytes.Index(text[at:], p.items[0].text)
		if next < 0 {
			return -1
		}
		at += next
		if end := s.take(p, text, at); end >= 0 {
			return end
		}
		at++
		if s.places += len(p.items) + next/8; s.places >= likeStop {
			if s.ask(); s.err != nil {
				return -1
			}
		}
	}
}

// skip goes over n letters; -1 where there are not as many.
func (s *likeSearch) skip(text []byte, at, n int) int {
	if s.asBytes {
		if len(text)-at < n {
			return -1
		}
		return at + n
	}
	for ; n > 0; n-- {
		switch {
		case at >= len(text):
			return -1
		case text[at] < utf8.RuneSelf:
			at++
		default:
			_, size := utf8.DecodeRune(text[at:])
			at += size
		}
	}
	return at
}

// back gives where the last n letters begin; -1 where there are not as many.
func (s *likeSearch) back(text []byte, n int) int {
	if s.asBytes {
		return max(len(text)-n, -1)
	}
	at := len(text)
	for ; n > 0; n-- {
		if at == 0 {
			return -1
		}
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return at
}
