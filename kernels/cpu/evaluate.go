package cpu

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// evalRows is the rows that are taken through all steps of a program at a time: a
// column of them is 32 KiB of float64, so that the values between steps stay in the
// first two caches. A step is one indirect call of a loop, some 30 nanoseconds, and
// every block begins to read each column anew: `(a * b + c) > d and e` of 1e7 rows
// took two threads of Zen 5 7.6 ms, 7.9 with 2048 rows, 9.5 with 1024 and 7.3 with
// 8192, of which a program of many steps would fill the second cache. Loops do not
// ask for the next block beforehand: written in C, two threads took 7.1 ms for 1e7
// rows without that (321 MB, 45 GB/s; 8.2 in small pages), and 8.2 with it (11.1).
// It is a multiple of 64, so that no two blocks share a byte of a bitmap.
const evalRows = 4096

// evalBits is how many times that are taken where nothing but bits is between
// steps: a morsel, of which a bitmap is 8 KiB.
const evalBits = morsel / evalRows

// errRefused is that of a program in which some row may have no value.
const errRefused = detour("cpu: a row may be refused")

// evaluate is the CPU's EvaluateFunc: it turns the program into a list of loops
// over addresses, and takes every morsel through them in blocks of evalRows. It
// reads each column once and writes each result once. Where a step says that a
// row cannot be computed the kernels run one after another, for the error's sake.
func (l *loops) evaluate(ctx context.Context, s device.Stream, p *kernels.Program, rows int64, columns []*memory.Column) ([]*memory.Column, error) {
	plan, err := l.plan(s, p, rows, columns)
	if err == nil {
		err = plan.run(ctx)
	}
	if err != nil {
		plan.release()
		if errors.Is(err, errRefused) {
			b := &kernels.Backend{Device: s.Device(), Set: l.set("cpu")}
			return b.EvaluateSteps(ctx, s, p, rows, columns)
		}
		return nil, err
	}
	return plan.columnsOf()
}

// run takes all rows through the loops.
func (p *evalPlan) run(ctx context.Context) error {
	p.times = evalBits
	if p.values {
		p.times = 1
	}
	blocks := &stash[*evalBlock]{make: p.block}
	defer func() {
		for _, b := range blocks.all {
			b.held.Release()
		}
	}()
	nulls := make([]atomic.Int64, len(p.outs))
	err := parallel(ctx, p.rows, func(_ int, s span) error {
		b, err := blocks.get()
		if err != nil {
			return err
		}
		defer blocks.put(b)
		b.ctx = ctx
		for from := s.from; from < s.to; from += evalRows * p.times {
			b.move(from, min(evalRows*p.times, s.to-from))
			for _, loop := range p.work {
				if !loop(b) {
					return errRefused
				}
			}
		}
		for i, r := range p.outs {
			if v := r.out.valid(); v != nil {
				nulls[i].Add(s.to - s.from - v.Count(s.from, s.to-s.from))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, r := range p.outs {
		r.out.parts.Nulls = nulls[i].Load()
		r.out.end()
	}
	return nil
}

// end clears the bits after the last row, and drops a validity without nulls.
func (o *out) end() {
	rest := uint(o.parts.Len & 7)
	for i, b := range o.parts.Buffers[:2] {
		if b != nil && rest != 0 && (i == 0 || memory.LayoutOf(o.parts.Type) == memory.LayoutBits) {
			b.Bytes()[o.parts.Len>>3] &= 1<<rest - 1
		}
	}
	if b := o.parts.Buffers[0]; b != nil && o.parts.Nulls == 0 {
		b.Release()
		o.parts.Buffers[0] = nil
	}
}

// columnsOf are the results, in the program's order.
func (p *evalPlan) columnsOf() (all []*memory.Column, err error) {
	made := map[int]*memory.Column{}
	for _, r := range p.outs {
		var c *memory.Column
		if err == nil {
			c, err = r.out.column(nil)
		} else {
			_, _ = r.out.column(err)
		}
		made[r.step] = c
	}
	for _, r := range p.program.Results {
		c := made[r]
		if st := p.program.Steps[r]; st.Kind == kernels.StepColumn {
			c = p.columns[st.Column]
		}
		if err == nil {
			all = append(all, c.Retain())
		}
	}
	for _, c := range made {
		c.Release()
	}
	return all, err
}

// release gives back the results that no one got.
func (p *evalPlan) release() {
	if p == nil {
		return
	}
	for _, r := range p.outs {
		_, _ = r.out.column(errRefused)
	}
}
