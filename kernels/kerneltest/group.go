package kerneltest

import (
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// groupOptions are drawn in turn.
var groupOptions = []kernels.GroupOptions{{}, {DropNullKeys: true}}

// keySets makes lists of key columns: each of the types alone, of few distinct
// values and of many, and then combinations that fill one word and more.
func (s *Suite) keySets() iter.Seq2[Call, []*memory.Column] {
	return func(yield func(Call, []*memory.Column) bool) {
		n := 0
		for c := range s.Cases(kernels.KeyTypes) {
			n++
			if c.Domain = Keys; n%4 == 0 || c.Length == s.Long() {
				c.Domain = Wild
			}
			if !yield(Call{Case: c}, []*memory.Column{s.Column(c)}) {
				return
			}
		}
		all := s.Types(kernels.KeyTypes)
		for draw := range 60 {
			if s.extent <= Brief && draw%4 != 0 {
				continue
			}
			more := s.scope(func() bool {
				call := Call{Case: Case{Length: []int64{9, 65, 257, 1000}[draw%4], Domain: Keys}}
				if draw == 0 && s.extent > Brief {
					call.Case.Length = s.Morsel() + 1
				}
				keys := make([]*memory.Column, 2+draw%3)
				for i := range keys {
					c := Case{Type: all[s.Rand.IntN(len(all))], Length: call.Case.Length, Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: Keys}
					if draw%7 == 3 {
						c.Domain = Small
					}
					keys[i] = s.Column(c)
					call.Types = append(call.Types, c.Type)
				}
				call.Case.Type = call.Types[0]
				call.Note = fmt.Sprint("keys ", call.Types)
				return yield(call, keys)
			})
			if !more {
				return
			}
		}
	}
}

func group(s *Suite) {
	n := 0
	for call, keys := range s.keySets() {
		o := groupOptions[n%2]
		n++
		call.Note += fmt.Sprintf(" %+v", o)
		run := func(e *Env) (Result, error) {
			g, err := e.Group(e.Ctx, e.Stream, e.onAll(keys), o)
			if err != nil {
				return Result{}, err
			}
			return Result{Columns: []*memory.Column{g.IDs, g.First}, Values: []any{g.N}}, nil
		}
		s.Check(call, run)
		if call.Case.Length == 65 && n%3 == 0 || call.Case.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	s.keysRefused(func(e *Env, keys []*memory.Column) (Result, error) {
		g, err := e.Group(e.Ctx, e.Stream, keys, kernels.GroupOptions{})
		if err != nil {
			return Result{}, err
		}
		return Result{Columns: []*memory.Column{g.IDs, g.First}}, nil
	})
}

// keysRefused makes calls with lists of keys that no kernel takes.
func (s *Suite) keysRefused(f func(e *Env, keys []*memory.Column) (Result, error)) {
	two := s.FromScalars(arrow.PrimitiveTypes.Int64, kernels.Int64(1), kernels.Int64(2))
	one := s.FromScalars(arrow.PrimitiveTypes.Int32, kernels.Int(arrow.PrimitiveTypes.Int32, 1))
	list := s.FromScalars(arrow.ListOf(arrow.PrimitiveTypes.Int32), kernels.Null(arrow.Null))
	for _, c := range []struct {
		note string
		keys []*memory.Column
		text string
	}{
		{"no keys", nil, "no key"},
		{"a key missing", []*memory.Column{two, nil}, "key 1"},
		{"a short key", []*memory.Column{two, one}, "column 1 has 1"},
		{"a list as key", []*memory.Column{list}, "list"},
	} {
		call := Call{Case: Case{Type: two.Type(), Length: 2}, Note: c.note, Text: []string{c.text}}
		s.Check(call, func(e *Env) (Result, error) { return f(e, e.onAll(c.keys)) })
	}
}

// keys makes keys of b.Rows rows with about that many distinct values,
// close together or spread over all integers.
func (b *Bencher) keys(distinct int64, spread bool) *memory.Column {
	c := b.Column(arrow.PrimitiveTypes.Int64, Small, 0)
	values := memory.Values[int64](c)
	for i := range values {
		if values[i] = b.Rand().Int64N(distinct); spread {
			values[i] *= 0x9E3779B97F4A7C1
		}
	}
	return c
}

func (b *Bencher) eachKeys(f func(name string, keys *memory.Column)) {
	for _, distinct := range []int64{100, 100_000, b.Rows} {
		for _, spread := range []bool{false, true} {
			where := "close"
			if spread {
				where = "spread"
			}
			f(b.Name(arrow.PrimitiveTypes.Int64, 0, "groups="+count(distinct), "keys="+where), b.keys(distinct, spread))
		}
	}
}

func benchGroup(b *Bencher) {
	b.eachKeys(func(name string, keys *memory.Column) {
		b.Measure(name, 12*b.Rows, func(e *Env) (Result, error) {
			g, err := e.Group(e.Ctx, e.Stream, []*memory.Column{e.On(keys)}, kernels.GroupOptions{})
			if err != nil {
				return Result{}, err
			}
			return Result{Columns: []*memory.Column{g.IDs, g.First}}, nil
		})
	})
}
