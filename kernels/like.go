package kernels

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// LikePart is a part of a pattern of SQL's LIKE: a text as it stands, or where
// Text is empty a run of wildcards.
type LikePart struct {
	Text    string
	Letters int  // how many letters there are at least: the _ of the run
	Any     bool // there may be more of them: the run has a %
}

// ParseLike cuts a pattern of LIKE into its parts: % stands for any number of
// letters, _ for one. The letter after escape stands for itself; an empty escape
// is none. An escape of more than one letter, and a pattern that ends with it, are
// an ErrMismatch.
func ParseLike(pattern, escape string) ([]LikePart, error) {
	if utf8.RuneCountInString(escape) > 1 {
		return nil, mismatch("like: the escape %q is more than one letter", escape)
	}
	var parts []LikePart
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, LikePart{Text: text.String()})
			text.Reset()
		}
	}
	wild := func() *LikePart {
		flush()
		if n := len(parts); n == 0 || parts[n-1].Text != "" {
			parts = append(parts, LikePart{})
		}
		return &parts[len(parts)-1]
	}
	for rest := pattern; rest != ""; {
		if escape != "" && strings.HasPrefix(rest, escape) {
			if rest = rest[len(escape):]; rest == "" {
				return nil, mismatch("like: the pattern %q ends with its escape", pattern)
			}
		} else if rest[0] == '%' {
			wild().Any = true
			rest = rest[1:]
			continue
		} else if rest[0] == '_' {
			wild().Letters++
			rest = rest[1:]
			continue
		}
		_, n := utf8.DecodeRuneInString(rest)
		text.WriteString(rest[:n])
		rest = rest[n:]
	}
	flush()
	return parts, nil
}

// LikeText is the pattern that ParseLike with LikeEscape reads as these parts.
func LikeText(parts []LikePart) string {
	var b strings.Builder
	for _, p := range parts {
		for i := range len(p.Text) { // bytes: what is escaped is ASCII
			if c := p.Text[i]; c == '%' || c == '_' || c == LikeEscape[0] {
				b.WriteString(LikeEscape)
			}
			b.WriteByte(p.Text[i])
		}
		b.WriteString(strings.Repeat("_", p.Letters))
		if p.Any {
			b.WriteByte('%')
		}
	}
	return b.String()
}

// CheckLike finds what is wrong with a pattern of Like for columns of type t.
func CheckLike(t arrow.DataType, pattern string) error {
	if !BytesAreLetters(t) && !utf8.ValidString(pattern) {
		return mismatch("like: the pattern %q is not UTF-8, as texts of %s are", pattern, t)
	}
	_, err := ParseLike(pattern, LikeEscape)
	return err
}

// BytesAreLetters tells whether the letters of a type of BinaryTypes are single bytes.
func BytesAreLetters(t arrow.DataType) bool {
	return t.ID() == arrow.BINARY || t.ID() == arrow.LARGE_BINARY
}
