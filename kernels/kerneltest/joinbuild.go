package kerneltest

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// join builds on one list of keys and probes with another.
func join(e *Env, left, right []*memory.Column, kind kernels.JoinKind, o kernels.JoinOptions) (Result, error) {
	table, err := e.JoinBuild(e.Ctx, e.Stream, e.onAll(right), o)
	if err != nil {
		return Result{}, err
	}
	defer table.Release()
	p, err := table.Probe(e.Ctx, e.Stream, e.onAll(left), kind, o)
	if err != nil {
		return Result{}, err
	}
	return Result{Columns: []*memory.Column{p.Left, p.Right}, Values: []any{table.Rows()}}, nil
}

func joinBuild(s *Suite) {
	n := 0
	for call, left := range s.keySets() {
		n++
		kind := kernels.JoinKind(n % 6)
		o := kernels.JoinOptions{NullsEqual: n/6%2 == 0}
		size := []int64{9, 33, 0, 1, 100}[n%5]
		domain := call.Case.Domain
		if call.Case.Length >= s.Morsel()-1 {
			domain, size = Wild, 40 // else the pairs would be very many
		}
		right := make([]*memory.Column, len(left))
		for i, k := range left {
			right[i] = s.Column(Case{Type: k.Type(), Length: size, Offset: s.DrawOffset(), Nulls: s.DrawPattern(), Domain: domain})
		}
		call.Note += fmt.Sprintf(" %s with %d rows %+v", kind, size, o)
		run := func(e *Env) (Result, error) { return join(e, left, right, kind, o) }
		s.Check(call, run)
		if call.Case.Length == 65 && n%3 == 0 || call.Case.Length == s.Long() {
			s.Faults(call, run)
			call.Note += " build"
			s.Faults(call, func(e *Env) (Result, error) {
				table, err := e.JoinBuild(e.Ctx, e.Stream, e.onAll(left), o)
				if err != nil {
					return Result{}, err
				}
				defer table.Release()
				return Result{Values: []any{table.Rows()}}, nil
			})
		}
	}
	s.keysRefused(func(e *Env, keys []*memory.Column) (Result, error) {
		return join(e, keys, keys, kernels.InnerJoin, kernels.JoinOptions{})
	})
	joinRefuses(s)
	joinParts(s)
	joinColumns(s)
	if s.extent > Least {
		joinBounded(s)
	}
}

// joinBounded holds a probe to JoinOptions.MaxPairs: as many are no error, one
// more is a PairsError with the number there would be, and takes no memory for
// them.
func joinBounded(s *Suite) {
	for i, t := range s.Types(kernels.KeyTypes) {
		s.scope(func() bool {
			left := s.Column(Case{Type: t, Length: 257, Nulls: s.DrawPattern(), Offset: s.DrawOffset(), Domain: Keys})
			right := s.Column(Case{Type: t, Length: 300, Nulls: s.DrawPattern(), Offset: s.DrawOffset(), Domain: Keys})
			for kind := kernels.InnerJoin; kind <= kernels.AntiJoin; kind++ {
				if s.extent == Tiny && int(kind)%3 != i%3 { // each type with two kinds, each kind with many types
					continue
				}
				run := func(most int64) func(*Env) (Result, error) {
					return func(e *Env) (Result, error) {
						o := kernels.JoinOptions{NullsEqual: true, MaxPairs: most}
						return join(e, []*memory.Column{left}, []*memory.Column{right}, kind, o)
					}
				}
				all, err := s.reference.call(context.Background(), run(0))
				s.must(err)
				n := all.Columns[0].Len()
				all.Release()
				if n == 0 {
					continue
				}
				call := Call{Case: Case{Type: t, Length: 257}, Note: fmt.Sprintf("%s of at most %d pairs", kind, n)}
				s.Check(call, run(n))
				if n == 1 {
					continue // a bound of 0 is none
				}
				call.Note, call.Text = fmt.Sprintf("%s of fewer than %d pairs", kind, n), []string{fmt.Sprint(n), fmt.Sprint(n - 1)}
				s.Check(call, run(n-1))
				r, err := s.tested.call(context.Background(), run(n-1))
				r.Release()
				var pairs *kernels.PairsError
				if !without(err, nil) && (!errors.As(err, &pairs) || pairs.Pairs != n || pairs.Max != n-1) {
					s.Errorf("%s(%s) of %s: got the error %v, want a PairsError of %d pairs", s.kernel, call.Note, t, err, n)
				}
			}
			return true
		})
	}
}

func joinRefuses(s *Suite) {
	i32, i64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64
	a := s.FromScalars(i64, kernels.Int64(1))
	b := s.FromScalars(i32, kernels.Int(i32, 1))
	call := Call{Case: Case{Type: i64, Length: 1}, Note: "types that differ", Text: []string{"key 1", "int64", "int32"}}
	s.Check(call, func(e *Env) (Result, error) {
		return join(e, e.onAll([]*memory.Column{a, a}), e.onAll([]*memory.Column{a, b}), kernels.InnerJoin, kernels.JoinOptions{})
	})
	call.Note, call.Text = "one key for two", []string{"1 keys", "2"}
	s.Check(call, func(e *Env) (Result, error) {
		return join(e, e.onAll([]*memory.Column{a}), e.onAll([]*memory.Column{a, b}), kernels.InnerJoin, kernels.JoinOptions{})
	})
	call.Note, call.Text = "no such kind", []string{"kind 6"}
	s.Check(call, func(e *Env) (Result, error) {
		return join(e, e.onAll([]*memory.Column{a}), e.onAll([]*memory.Column{a}), kernels.AntiJoin+1, kernels.JoinOptions{})
	})
	call.Note, call.Text = "probe after release", []string{"released"}
	s.Check(call, func(e *Env) (Result, error) {
		table, err := e.JoinBuild(e.Ctx, e.Stream, []*memory.Column{e.On(a)}, kernels.JoinOptions{})
		if err != nil {
			return Result{}, err
		}
		table.Release()
		table.Release()
		_, err = table.Probe(e.Ctx, e.Stream, []*memory.Column{e.On(a)}, kernels.InnerJoin, kernels.JoinOptions{})
		return Result{}, err
	})
}

func benchJoinBuild(b *Bencher) {
	for _, size := range []int64{100_000, b.Rows} {
		size = min(size, b.Rows)
		for _, spread := range []bool{false, true} {
			left := b.keys(size, spread)
			right := b.keys(size, spread)
			values := memory.Values[int64](right)
			for i := range values { // distinct, in another order
				if values[i] = (int64(i)*7919 + 13) % size; spread {
					values[i] *= 0x9E3779B97F4A7C1
				}
			}
			built, err := right.Slice(0, size)
			if err != nil {
				b.Fatal(err)
			}
			b.Own(built)
			name := b.Name(left.Type(), 0, "build="+count(size), fmt.Sprintf("spread=%v", spread))
			b.Measure(name, 16*b.Rows+8*size, func(e *Env) (Result, error) {
				return join(e, []*memory.Column{left}, []*memory.Column{built}, kernels.InnerJoin, kernels.JoinOptions{})
			})
		}
	}
}
