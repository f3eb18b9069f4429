package kerneltest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinSpread are right sides by how many rows a key has: numbers of keys, of n
// rows.
var joinSpread = []struct {
	note string
	n    int
	key  func(r *rand.Rand, zipf *rand.Zipf, i int) int64
}{
	{"a table's worth of keys less one", 7, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i) }},
	{"a table's worth of keys", 8, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i) }},
	{"one key more", 9, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i) }},
	{"keys of one row", 600, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i * 7919 % 600) }},
	{"keys of three rows", 600, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i % 200) }},
	{"keys by chance", 600, func(r *rand.Rand, _ *rand.Zipf, _ int) int64 { return r.Int64N(400) }},
	{"keys after Zipf", 600, func(_ *rand.Rand, zipf *rand.Zipf, _ int) int64 { return int64(zipf.Uint64()) }},
	{"one key", 300, func(*rand.Rand, *rand.Zipf, int) int64 { return 3 }},
	{"one key in half of a few rows", 40, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i%16*(1-i%2) + i%2) }},
	{"one key in most rows", 300, func(_ *rand.Rand, _ *rand.Zipf, i int) int64 { return int64(i * (1 - min(i%8, 1))) }},
}

// joinLeast is the right side of those that Least is content with.
const joinLeast = 8

// joinParts probes right sides of few and of many keys, evenly spread and not,
// each built once and probed by several left sides, with every kind of join, in
// order and in any: what a backend may do in parts, of which some are too large.
func joinParts(s *Suite) {
	for n, spread := range joinSpread {
		for form := range 4 {
			if s.extent <= Tiny && (n%2 != 0 || form != n/2%4) || s.extent == Least && n != joinLeast {
				continue
			}
			s.scope(func() bool {
				r := s.Rand
				zipf := rand.NewZipf(r, 1.3, 1, 500)
				keyed := func(n int, key func(i int) int64) []*memory.Column {
					rows := make([]int64, n)
					for i := range rows {
						rows[i] = key(i)
					}
					return s.joinKeys(form, rows)
				}
				right := keyed(spread.n, func(i int) int64 { return spread.key(r, zipf, i) })
				lefts := [][]*memory.Column{
					keyed(0, func(int) int64 { return 0 }),
					keyed(spread.n/2+1, func(i int) int64 { return int64(i) }),
					keyed(301, func(int) int64 { return r.Int64N(700) }),
					keyed(130, func(i int) int64 { return int64(zipf.Uint64()) * int64(min(i%3, 1)) }),
				}
				if s.extent == Least {
					lefts = lefts[1:2]
				}
				nullsEqual := (n+form)%2 == 0
				call := Call{Case: Case{Type: right[0].Type(), Length: int64(spread.n)}}
				call.Note = fmt.Sprintf("%s, keys of form %d, nulls equal %v", spread.note, form, nullsEqual)
				s.Check(call, func(e *Env) (Result, error) { return joinAll(e, lefts, right, nullsEqual) })
				if n == 6 {
					call.Note += " under faults"
					s.Faults(call, func(e *Env) (Result, error) { return joinAll(e, lefts[2:3], right, nullsEqual) })
				}
				return true
			})
		}
	}
}

// joinKeys makes columns of keys that are equal where the numbers are: a word
// with nulls, texts with nulls, a word and a text, and several words.
func (s *Suite) joinKeys(form int, rows []int64) []*memory.Column {
	numbers := func(nulls int64, of func(int64) int64) *memory.Column {
		values := make([]kernels.Scalar, len(rows))
		for i, v := range rows {
			if values[i] = kernels.Int64(of(v)); nulls > 0 && v%nulls == 5 {
				values[i] = kernels.Null(arrow.PrimitiveTypes.Int64)
			}
		}
		return s.FromScalars(arrow.PrimitiveTypes.Int64, values...)
	}
	texts := func(nulls int64) *memory.Column {
		values := make([]kernels.Scalar, len(rows))
		for i, v := range rows {
			if values[i] = kernels.String(fmt.Sprintf("%.*s%d", int(v%20), "a text of more bytes", v)); nulls > 0 && v%nulls == 5 {
				values[i] = kernels.Null(arrow.BinaryTypes.String)
			}
		}
		return s.FromScalars(arrow.BinaryTypes.String, values...)
	}
	spread := func(v int64) int64 { return v*0x9E3779B97F4A7C1 - 1 }
	switch form {
	case 0:
		return []*memory.Column{numbers(40, spread)}
	case 1:
		return []*memory.Column{texts(40)}
	case 2:
		return []*memory.Column{numbers(0, func(v int64) int64 { return v % 2 }), texts(0)}
	default:
		return []*memory.Column{numbers(40, spread), numbers(0, func(v int64) int64 { return v / 3 })}
	}
}

// joinAll builds once and probes with each of the left sides and each kind of
// join, in order and in any: then the pairs are values, sorted.
func joinAll(e *Env, lefts [][]*memory.Column, right []*memory.Column, nullsEqual bool) (r Result, err error) {
	defer func() {
		if err != nil {
			r.Release()
			r = Result{}
		}
	}()
	table, err := e.JoinBuild(e.Ctx, e.Stream, e.onAll(right), kernels.JoinOptions{NullsEqual: nullsEqual})
	if err != nil {
		return r, err
	}
	defer table.Release()
	for _, left := range lefts {
		there := e.onAll(left)
		for kind := kernels.InnerJoin; kind <= kernels.AntiJoin; kind++ {
			p, err := table.Probe(e.Ctx, e.Stream, there, kind, kernels.JoinOptions{})
			if err != nil {
				return r, err
			}
			r.Columns = append(r.Columns, p.Left, p.Right)
			p, err = table.Probe(e.Ctx, e.Stream, there, kind, kernels.JoinOptions{AnyOrder: true})
			if err != nil {
				return r, err
			}
			pairs, err := sortedPairs(e, p)
			p.Release()
			if err != nil {
				return r, err
			}
			r.Values = append(r.Values, pairs)
		}
	}
	return r, nil
}

// sortedPairs are the pairs of a join in left order and then right order, -1 for
// none.
func sortedPairs(e *Env, p *kernels.Pairs) ([][2]int64, error) {
	pairs := make([][2]int64, p.Left.Len())
	for side, c := range []*memory.Column{p.Left, p.Right} {
		if c == nil {
			continue
		}
		h, err := device.Move(context.Background(), e.Stream, memory.Heap, c)
		if err != nil {
			return nil, err
		}
		for i := range pairs {
			if pairs[i][side] = -1; !h.IsNull(int64(i)) {
				pairs[i][side] = int64(kernels.ScalarAt(h, int64(i)).Uint64())
			}
		}
		h.Release()
	}
	slices.SortFunc(pairs, func(a, b [2]int64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return pairs, nil
}
