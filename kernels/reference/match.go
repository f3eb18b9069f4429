package reference

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func match(ctx context.Context, s device.Stream, op kernels.MatchOp, c *memory.Column, pattern string) (*memory.Column, error) {
	t := arrow.FixedWidthTypes.Boolean
	holds := [...]func(s, part string) bool{strings.Contains, strings.HasPrefix, strings.HasSuffix, nil}[op]
	if op == kernels.Like {
		parts, err := kernels.ParseLike(pattern, kernels.LikeEscape)
		if err != nil {
			return nil, err
		}
		holds = func(s, _ string) bool { return like(lettersOf(s, kernels.BytesAreLetters(c.Type())), parts) }
	}
	return kernels.BuildColumn(ctx, s, t, c.Len(), func(i int64) (kernels.Scalar, error) {
		v := kernels.ScalarAt(c, i)
		if !v.Valid() {
			return kernels.Null(t), nil
		}
		return kernels.Bool(holds(v.Text(), pattern)), nil
	})
}

// lettersOf cuts a text into its letters.
func lettersOf(s string, asBytes bool) (letters []string) {
	for n := 0; s != ""; s = s[n:] {
		if n = 1; !asBytes {
			_, n = utf8.DecodeRuneInString(s)
		}
		letters = append(letters, s[:n])
	}
	return letters
}

// like goes through the pattern with all numbers of letters that what came
// before may have taken.
func like(letters []string, parts []kernels.LikePart) bool {
	ends := make([]bool, len(letters)+1)
	ends[0] = true
	for _, p := range parts {
		next := make([]bool, len(ends))
		for from, ok := range ends {
			if !ok {
				continue
			}
			if p.Text == "" {
				for to := from + p.Letters; to < len(next) && (p.Any || to == from+p.Letters); to++ {
					next[to] = true
				}
				continue
			}
			rest, to := p.Text, from
			for to < len(letters) && rest != "" && strings.HasPrefix(rest, letters[to]) {
				rest = rest[len(letters[to]):]
				to++
			}
			next[to] = next[to] || rest == ""
		}
		ends = next
	}
	return ends[len(letters)]
}

func substring(ctx context.Context, s device.Stream, c *memory.Column, from, length int64) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, c.Type(), c.Len(), func(i int64) (kernels.Scalar, error) {
		v := kernels.ScalarAt(c, i)
		if !v.Valid() {
			return kernels.Null(c.Type()), nil
		}
		letters := lettersOf(v.Text(), kernels.BytesAreLetters(c.Type()))
		start := min(from-1, int64(len(letters)))
		end := start + min(length, int64(len(letters))-start)
		return kernels.Text(c.Type(), strings.Join(letters[start:end], "")), nil
	})
}
