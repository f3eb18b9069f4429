package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenWord
	tokenName   // a quoted identifier
	tokenString // a text in single quotes
	tokenNumber
	tokenSymbol
)

// token is a piece of text with its place.
type token struct {
	kind tokenKind
	text string // of a word in lower case, of quoted ones without the quotes
	raw  string // as it was written
	pos  Pos
}

// show names the token in an error.
func (t token) show() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return t.raw
}

// ParseError is a text that is no expression. It is a device.ErrMismatch.
type ParseError struct {
	Pos      Pos
	Expected string // what could have stood there
	Found    string // what stands there
}

// Error says where, what was expected and what was found.
func (e *ParseError) Error() string {
	return fmt.Sprintf("%v at %v: expected %s, found %s", errSyntax, e.Pos, e.Expected, shortened(e.Found))
}

// shortened is a text with its end left out where it is long for a message.
func shortened(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Unwrap gives the kind of the error.
func (e *ParseError) Unwrap() error { return errSyntax }

// reserved words are no column names unless quoted.
var reserved = map[string]bool{
	"and": true, "or": true, "xor": true, "not": true, "is": true, "null": true, "in": true,
	"between": true, "case": true, "when": true, "then": true, "else": true, "end": true,
	"cast": true, "as": true, "true": true, "false": true,
}

// lex cuts text into tokens; the last is a tokenEnd.
func lex(text string) ([]token, error) {
	var tokens []token
	pos := Pos{1, 1}
	for i := 0; i < len(text); {
		n, t, err := next(text[i:], pos)
		if err != nil {
			return nil, err
		}
		if t.kind != tokenEnd {
			t.raw, t.pos = text[i:i+n], pos
			if tokens = append(tokens, t); len(tokens) > maxTokens {
				return nil, fmt.Errorf("%w at %v: an expression of more than %d words", errSyntax, pos, maxTokens)
			}
		}
		for _, r := range text[i : i+n] {
			if pos.Column++; r == '\n' {
				pos = Pos{pos.Line + 1, 1}
			}
		}
		i += n
	}
	return append(tokens, token{kind: tokenEnd, pos: pos}), nil
}

// next is the token that s begins with and its length; a tokenEnd is white
// space.
func next(s string, pos Pos) (int, token, error) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r):
		return size, token{}, nil
	case r == '\'':
		return quoted(s, pos, tokenString)
	case r == '"' || r == '`':
		return quoted(s, pos, tokenName)
	case r == '_' || unicode.IsLetter(r):
		n := wordLen(s)
		return n, token{kind: tokenWord, text: strings.ToLower(s[:n])}, nil
	case r >= '0' && r <= '9' || r == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
		n := numberLen(s)
		return n, token{kind: tokenNumber, text: s[:n]}, nil
	}
	for _, symbol := range []string{"<=", ">=", "<>", "!=", "=="} {
		if strings.HasPrefix(s, symbol) {
			return 2, token{kind: tokenSymbol, text: symbol}, nil
		}
	}
	if strings.ContainsRune("=<>+-*/%(),[]:", r) {
		return 1, token{kind: tokenSymbol, text: s[:1]}, nil
	}
	return 0, token{}, &ParseError{Pos: pos, Expected: "an expression", Found: fmt.Sprintf("the character %q", r)}
}

// quoted reads up to the closing quote; a doubled quote stands for itself.
func quoted(s string, pos Pos, kind tokenKind) (int, token, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != s[0] {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == s[0] {
			b.WriteByte(s[i])
			i++
			continue
		}
		return i + 1, token{kind: kind, text: b.String()}, nil
	}
	return 0, token{}, &ParseError{Pos: pos, Expected: "a closing " + s[:1] + " for the quote opened here", Found: "the end"}
}

func wordLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == utf8.RuneError {
			return i
		}
	}
	return len(s)
}

// numberLen is the length of digits, a fraction and an exponent.
func numberLen(s string) int {
	i := digitsLen(s)
	if i < len(s) && s[i] == '.' {
		i += 1 + digitsLen(s[i+1:])
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if n := digitsLen(s[j:]); n > 0 {
			i = j + n
		}
	}
	return i
}

func digitsLen(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}
