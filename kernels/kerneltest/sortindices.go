package kerneltest

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// order runs f over cases with one to three sort keys, in all directions.
func order(s *Suite, f func(Call, []kernels.SortKey)) {
	n := 0
	for c := range s.Cases(kernels.KeyTypes) {
		n++
		c.Domain = []Domain{Keys, Wild, Small}[n%3]
		keys := []kernels.SortKey{{Values: s.Column(c), Descending: n%2 == 0, NullsFirst: n%5 < 2}}
		types := []arrow.DataType{c.Type}
		all := s.Types(kernels.KeyTypes)
		several := 1 + n%4
		if c.Length == s.Long() {
			several = max(several, 2)
		}
		for len(keys) < several && len(keys) < 3 {
			more := Case{Type: all[s.Rand.IntN(len(all))], Length: c.Length, Nulls: s.DrawPattern(), Offset: s.DrawOffset(), Domain: Domain(s.Rand.IntN(3))}
			keys = append(keys, kernels.SortKey{Values: s.Column(more), Descending: s.Rand.IntN(2) == 0, NullsFirst: s.Rand.IntN(2) == 0})
			types = append(types, more.Type)
		}
		f(Call{Case: c, Types: types, Note: fmt.Sprint(keys)}, keys)
	}
}

// keys is sort keys with their columns on the call's device.
func (e *Env) keys(keys []kernels.SortKey) []kernels.SortKey {
	moved := make([]kernels.SortKey, len(keys))
	for i, k := range keys {
		moved[i] = k
		moved[i].Values = e.On(k.Values)
	}
	return moved
}

// faultKeys are the keys of a call under faults. On Tiny's devices, where each of
// its many calls takes long, seven in eight short ones have the first key alone,
// which is of each type once; the long one has several.
func (s *Suite) faultKeys(keys []kernels.SortKey) []kernels.SortKey {
	if s.extent == Tiny && keys[0].Values.Len() < 1000 && len(s.faulted)%8 != 0 {
		return keys[:1]
	}
	return keys
}

func sortIndices(s *Suite) {
	order(s, func(c Call, keys []kernels.SortKey) {
		run := func(e *Env) (Result, error) { return One(e.SortIndices(e.Ctx, e.Stream, e.keys(keys))) }
		s.Check(c, run)
		if s.has("SortColumns") {
			columns := c
			columns.Note, columns.Also = columns.Note+", columns", "SortColumns"
			s.Check(columns, func(e *Env) (Result, error) {
				sorted, err := e.SortColumns(e.Ctx, e.Stream, e.keys(keys), []*memory.Column{e.On(keys[0].Values)})
				return Result{Columns: sorted}, err
			})
		}
		if c.Case.Length == 65 || c.Case.Length == s.Long() {
			keys = s.faultKeys(keys)
			c.Note = fmt.Sprint(keys)
			s.Faults(c, run)
		}
	})
	for i, keys := range hardOrders(s, 2*Morsel+5) {
		if s.extent == Least && i%4 != 3 { // equal, nulls first, texts
			continue
		}
		c := Call{Case: Case{Type: keys[0].Values.Type(), Length: keys[0].Values.Len()}, Note: fmt.Sprint("hard ", keys)}
		s.Check(c, func(e *Env) (Result, error) { return One(e.SortIndices(e.Ctx, e.Stream, e.keys(keys))) })
	}
	orderRefuses(s, func(e *Env, keys []kernels.SortKey) (Result, error) {
		return One(e.SortIndices(e.Ctx, e.Stream, e.keys(keys)))
	})
}

// hardOrders are keys that sorts have trouble with: sorted already, either
// way, equal throughout, long strings that differ late, all 64 bits used with
// nulls beside them.
func hardOrders(s *Suite, n int) [][]kernels.SortKey {
	switch s.extent {
	case Brief:
		n = min(n, 4000)
	case Tiny:
		n = min(n, 1500)
	case Least:
		n = min(n, 300)
	}
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	column := func(t arrow.DataType, f func(i int) kernels.Scalar) *memory.Column {
		v := make([]kernels.Scalar, n)
		for i := range v {
			v[i] = f(i)
		}
		return s.FromScalars(t, v...)
	}
	key := func(t arrow.DataType, f func(i int) kernels.Scalar) kernels.SortKey {
		return kernels.SortKey{Values: column(t, f)}
	}
	rising := key(i64, func(i int) kernels.Scalar { return kernels.Int64(int64(i)) })
	falling := key(i64, func(i int) kernels.Scalar { return kernels.Int64(int64(-i)) })
	steps := key(i64, func(i int) kernels.Scalar { return kernels.Int64(int64(-i / 3)) })
	equal := key(i64, func(i int) kernels.Scalar { return kernels.Int64(7) })
	full := key(i64, func(i int) kernels.Scalar {
		if i%7 == 0 {
			return kernels.Null(i64)
		}
		return kernels.Int64(int64(s.Rand.Uint64() | uint64(i&1)<<63))
	})
	ends := key(i64, func(i int) kernels.Scalar {
		switch i % 5 {
		case 0:
			return kernels.Null(i64)
		case 1:
			return kernels.Int64(-1 << 63)
		default:
			return kernels.Int64(1<<63 - 1)
		}
	})
	prefix := strings.Repeat("the same start of all ", 4)
	late := key(text, func(int) kernels.Scalar {
		return kernels.String(prefix + fmt.Sprintf("%03d", s.Rand.IntN(1000))[:s.Rand.IntN(4)])
	})
	ladder := key(text, func(i int) kernels.Scalar { return kernels.String(strings.Repeat("a", s.Rand.IntN(200))) })
	zeros := key(text, func(i int) kernels.Scalar { return kernels.String(strings.Repeat("\x00", s.Rand.IntN(20))) })
	first := func(k kernels.SortKey) kernels.SortKey { k.NullsFirst = true; return k }
	desc := func(k kernels.SortKey) kernels.SortKey { k.Descending = true; return k }
	return [][]kernels.SortKey{
		{rising}, {falling}, {desc(falling)}, {steps}, {equal}, {equal, falling}, {full}, {first(full)}, {desc(full), rising},
		{ends, falling}, {desc(first(ends)), steps, falling}, {late}, {desc(late), steps}, {ladder, falling}, {desc(ladder)}, {zeros}, {steps, zeros},
	}
}

func orderRefuses(s *Suite, f func(*Env, []kernels.SortKey) (Result, error)) {
	i64 := arrow.PrimitiveTypes.Int64
	two := s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2))
	three := s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2), kernels.Int64(3))
	list := s.Column(Case{Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Length: 2})
	for _, bad := range []struct {
		note string
		keys []kernels.SortKey
		text []string
	}{
		{"no keys", nil, []string{"no keys"}},
		{"a key without a column", []kernels.SortKey{{Values: two}, {}}, []string{"key 1"}},
		{"lengths", []kernels.SortKey{{Values: two}, {Values: three}}, []string{"2", "3"}},
		{"a list", []kernels.SortKey{{Values: list}}, []string{"list"}},
	} {
		c := Call{Case: Case{Type: i64, Length: 2}, Note: bad.note, Text: bad.text}
		s.Check(c, func(e *Env) (Result, error) { return f(e, e.keys(bad.keys)) })
	}
	s.Check(Call{Case: Case{Type: i64, Length: 2}, Note: "no stream", Text: []string{"stream"}}, func(e *Env) (Result, error) {
		var none device.Stream
		return One(e.SortIndices(context.Background(), none, []kernels.SortKey{{Values: e.On(two)}}))
	})
}

func benchSortIndices(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String} {
		for _, domain := range []Domain{Wild, Small} {
			keys := []kernels.SortKey{{Values: b.Column(t, domain, 10)}}
			name := b.Name(t, 10, "values="+[]string{"wild", "few"}[domain])
			b.Measure(name, Bytes(keys[0].Values)+4*b.Rows, func(e *Env) (Result, error) {
				return One(e.SortIndices(e.Ctx, e.Stream, e.keys(keys)))
			})
		}
	}
}
