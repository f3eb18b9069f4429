package kerneltest

import (
	"fmt"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func unique(s *Suite) {
	n := 0
	for call, keys := range s.keySets() {
		o := groupOptions[n%2]
		n++
		call.Note += fmt.Sprintf(" %+v", o)
		run := func(e *Env) (Result, error) { return One(e.Unique(e.Ctx, e.Stream, e.onAll(keys), o)) }
		s.Check(call, run)
		if call.Case.Length == 65 && n%5 == 0 || call.Case.Length == s.Long() {
			s.Faults(call, run)
		}
	}
	s.keysRefused(func(e *Env, keys []*memory.Column) (Result, error) {
		return One(e.Unique(e.Ctx, e.Stream, keys, kernels.GroupOptions{}))
	})
}

func benchUnique(b *Bencher) {
	b.eachKeys(func(name string, keys *memory.Column) {
		b.Measure(name, 8*b.Rows, func(e *Env) (Result, error) {
			return One(e.Unique(e.Ctx, e.Stream, []*memory.Column{e.On(keys)}, kernels.GroupOptions{}))
		})
	})
}
