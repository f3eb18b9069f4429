package kerneltest

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// partitions is the result of a call of Partition.
func partitions(p *kernels.Partitions, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	return Result{Columns: []*memory.Column{p.Rows}, Values: []any{p.Offsets}}, nil
}

func partition(s *Suite) {
	n := 0
	counts := []int{1, 2, 7, 64, 1000}
	for c := range s.Cases(kernels.KeyTypes) {
		c.Domain = []Domain{Wild, Keys}[s.Rand.IntN(2)]
		scheme := kernels.PartitionScheme(n % 3)
		if c.Length == s.Long() {
			scheme = kernels.ByRange
		}
		n++
		keys := []*memory.Column{s.Column(c)}
		o := kernels.PartitionOptions{Scheme: scheme, Parts: counts[s.Rand.IntN(len(counts))]}
		switch {
		case scheme == kernels.ByRange:
			o.Bounds = s.Bounds(c)
		case s.Rand.IntN(2) == 0:
			keys = append(keys, s.Column(Case{Type: arrow.PrimitiveTypes.Int32, Length: c.Length, Nulls: s.DrawPattern(), Domain: Keys}))
		}
		s.partition(c, keys, o)
	}
	s.scope(func() bool { // by hash in several morsels too
		c := Case{Type: arrow.PrimitiveTypes.Int64, Length: s.Long(), Nulls: Tenth, Offset: 3}
		s.partition(c, []*memory.Column{s.Column(c)}, kernels.PartitionOptions{Scheme: kernels.ByHash, Parts: 300})
		return true
	})
	for _, rows := range append([]int64{s.Long()}, s.Lengths()...) {
		for _, count := range counts {
			o := kernels.PartitionOptions{Scheme: kernels.ByRoundRobin, Parts: count, Rows: rows}
			s.partition(Case{Type: arrow.Null, Length: rows}, nil, o)
		}
	}
	partitionRefuses(s)
}

func (s *Suite) partition(c Case, keys []*memory.Column, o kernels.PartitionOptions) {
	s.Helper()
	call := Call{Case: c, Note: fmt.Sprintf("scheme %d, %d parts, %d keys", o.Scheme, o.Parts, len(keys))}
	if o.Bounds != nil {
		call.Note += fmt.Sprintf(", bounds %v", kernels.Scalars(o.Bounds))
	}
	run := func(e *Env) (Result, error) {
		on := make([]*memory.Column, len(keys))
		for i, k := range keys {
			on[i] = e.On(k)
		}
		o := o
		o.Bounds = e.On(o.Bounds)
		return partitions(e.Partition(e.Ctx, e.Stream, on, o))
	}
	s.Check(call, run)
	if c.Length == 65 || c.Length == s.Long() {
		s.Faults(call, run)
	}
}

// Bounds makes up to a dozen sorted bounds of a case's type and domain, nulls
// last, some of them equal.
func (s *Suite) Bounds(c Case) *memory.Column {
	drawn := s.Column(Case{Type: c.Type, Length: int64(s.Rand.IntN(13)), Nulls: s.DrawPattern(), Offset: s.DrawOffset(), Domain: c.Domain})
	values := kernels.Scalars(drawn)
	slices.SortStableFunc(values, kernels.CompareKeys)
	return s.FromScalars(c.Type, values...)
}

func partitionRefuses(s *Suite) {
	key := s.Column(Case{Type: arrow.PrimitiveTypes.Int64, Length: 10})
	short := s.Column(Case{Type: arrow.PrimitiveTypes.Int64, Length: 9})
	other := s.Column(Case{Type: arrow.PrimitiveTypes.Int32, Length: 2})
	for _, c := range []struct {
		note string
		keys []*memory.Column
		o    kernels.PartitionOptions
		text string
	}{
		{"no partitions", []*memory.Column{key}, kernels.PartitionOptions{Scheme: kernels.ByHash}, "0 partitions"},
		{"no keys", nil, kernels.PartitionOptions{Scheme: kernels.ByHash, Parts: 2}, "no keys"},
		{"lengths", []*memory.Column{key, short}, kernels.PartitionOptions{Scheme: kernels.ByHash, Parts: 2}, "9"},
		{"no bounds", []*memory.Column{key}, kernels.PartitionOptions{Scheme: kernels.ByRange}, "bounds"},
		{"bounds of another type", []*memory.Column{key}, kernels.PartitionOptions{Scheme: kernels.ByRange, Bounds: other}, "int32"},
		{"negative rows", nil, kernels.PartitionOptions{Scheme: kernels.ByRoundRobin, Parts: 2, Rows: -1}, "-1 rows"},
		{"another scheme", []*memory.Column{key}, kernels.PartitionOptions{Scheme: 9, Parts: 2}, "scheme 9"},
	} {
		call := Call{Case: Case{Type: key.Type(), Length: 10}, Note: c.note, Text: []string{c.text}}
		s.Check(call, func(e *Env) (Result, error) {
			on := make([]*memory.Column, len(c.keys))
			for i, k := range c.keys {
				on[i] = e.On(k)
			}
			o := c.o
			o.Bounds = e.On(o.Bounds)
			return partitions(e.Partition(e.Ctx, e.Stream, on, o))
		})
	}
}

func benchPartition(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		values := b.Column(t, Wild, 0)
		for _, parts := range []int{8, 256} {
			b.Measure(b.Name(t, 0, "scheme=hash", fmt.Sprintf("parts=%d", parts)), Bytes(values)+4*b.Rows, func(e *Env) (Result, error) {
				return partitions(e.Partition(e.Ctx, e.Stream, []*memory.Column{e.On(values)}, kernels.PartitionOptions{Scheme: kernels.ByHash, Parts: parts}))
			})
		}
	}
}
