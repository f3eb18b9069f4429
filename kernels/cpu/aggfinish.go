package cpu

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// add plans one aggregation.
func (p *aggPlan) add(agg kernels.Aggregate) (*finish, error) {
	f := &finish{agg: agg, rows: p.counter(allRows)}
	var from arrow.DataType
	if agg.Values != nil {
		from = agg.Values.Type()
	}
	t, err := kernels.AggregateType(agg.Op, from)
	if err != nil {
		return nil, err
	}
	f.out = &aggOut{a: p.a, t: t}
	if agg.Op == kernels.CountAll {
		f.valid, f.main = f.rows, f.rows
		f.write = func(_ state, count uint32, _ int, at uint32) { memory.View[int64](f.out.values)[at] = int64(count) }
		return f, nil
	}
	pick := false // the result is the value of a row
	switch agg.Op {
	case kernels.Min, kernels.Max:
		pick = !(kernels.FixedTypes | kernels.BoolTypes).Has(t.ID()) || t.ID() == arrow.DECIMAL128
	case kernels.First, kernels.Last:
		pick = true
	}
	col, err := p.column(agg.Values, !pick && agg.Op != kernels.Count)
	if err != nil {
		return nil, err
	}
	f.valid = p.counter(col)
	f.main = f.valid
	c := p.cols[col].c
	switch {
	case agg.Op == kernels.Count:
		f.write = func(_ state, count uint32, _ int, at uint32) { memory.View[int64](f.out.values)[at] = int64(count) }
	case pick:
		f.out.of = c
		f.main = p.pickState(agg.Op, col)
		f.write = func(s state, _ uint32, g int, at uint32) { f.out.rows.s[at] = s.(*rowState).acc.s[g] }
	case c.Type().ID() == arrow.BOOL:
		f.finishBool(p, col)
	case agg.Op == kernels.Var || agg.Op == kernels.Std:
		f.finishMoments(p, col)
	case c.Type().ID() == arrow.DECIMAL128:
		f.finishDecimal(p, col)
	case agg.Op == kernels.Min || agg.Op == kernels.Max:
		f.finishExtreme(p, col)
	default:
		return f, f.finishNumber(p, col)
	}
	return f, nil
}

// pickState is the state that picks a row of each group.
func (p *aggPlan) pickState(op kernels.Aggregation, col int) int {
	c := p.cols[col].c
	return p.state(op.String(), col, func() state {
		s := &rowState{groupValues: groupValues[uint32]{a: p.a}}
		switch op {
		case kernels.First:
			s.better = func(row, than uint32) bool { return row < than }
		case kernels.Last:
			s.better = func(row, than uint32) bool { return row > than }
		case kernels.Min:
			s.better = rowPicker(c, false)
		default:
			s.better = rowPicker(c, true)
		}
		return s
	})
}

func (f *finish) finishBool(p *aggPlan, col int) {
	c, o := p.cols[col].c, f.out
	f.main = p.state("truth", col, func() state {
		s := &truthState{groupValues: groupValues[uint32]{a: p.a}, offset: c.Offset()}
		if c.Type().ID() == arrow.BOOL && c.Buffer(1) != nil {
			s.bits = c.Bits()
		}
		return s
	})
	op, keep, rows := f.agg.Op, f.agg.Options.KeepNulls, f.rows
	f.write = func(s state, count uint32, g int, at uint32) {
		truths := s.(*truthState).acc.s[g]
		switch op {
		case kernels.Sum:
			memory.View[uint64](o.values)[at] = uint64(truths)
		case kernels.Mean:
			memory.View[float64](o.values)[at] = float64(truths) / float64(count)
		case kernels.Any, kernels.Max:
			if truths > 0 {
				setBit(o.bits.s, at)
			}
		default:
			if truths == count {
				setBit(o.bits.s, at)
			}
		}
	}
	if keep && (op == kernels.Any || op == kernels.All) {
		// A null counts unless what there is settles the answer.
		write := f.write
		f.writeKleene = func(s *states, count uint32, g int, at uint32) {
			truths := s.all[f.main].(*truthState).acc.s[g]
			nulls := s.all[rows].(*countState).acc.s[g] > count
			if nulls && (op == kernels.Any && truths == 0 || op == kernels.All && truths == count) {
				o.null(at)
			} else {
				write(s.all[f.main], count, g, at)
			}
		}
	}
}

func (f *finish) finishMoments(p *aggPlan, col int) {
	c, o := p.cols[col].c, f.out
	f.main = p.state("moments", col, func() state {
		return newMomentState(p.a, c)
	})
	op, ddof := f.agg.Op, float64(f.agg.Options.Ddof)
	f.write = func(s state, _ uint32, g int, at uint32) {
		m := s.(*momentState).acc.s[g]
		v := m.squares / (m.n - ddof)
		if op == kernels.Std {
			v = math.Sqrt(v)
		}
		memory.View[float64](o.values)[at] = v
	}
}

func (f *finish) finishDecimal(p *aggPlan, col int) {
	c, o := p.cols[col].c, f.out
	f.main = p.state("sum", col, func() state {
		return newDecimalState(p.a, p.l, memory.Values[[2]uint64](c))
	})
	if f.agg.Op == kernels.Sum {
		f.write = func(s state, _ uint32, g int, at uint32) {
			sum, fits := s.(*decimalState).sum(g)
			if !fits {
				f.over.Store(true)
			}
			memory.View[wide](o.values)[at] = sum
		}
		return
	}
	scale := math.Pow10(int(c.Type().(*arrow.Decimal128Type).Scale))
	f.write = func(s state, count uint32, g int, at uint32) {
		memory.View[float64](o.values)[at] = s.(*decimalState).float(g) / scale / float64(count)
	}
}

// finishNumber plans sum, product and mean of integers and floats; a column of
// type null counts as one of int64.
func (f *finish) finishNumber(p *aggPlan, col int) error {
	c := p.cols[col].c
	switch id := c.Type().ID(); id {
	case arrow.INT8:
		finishInts[int8](f, p, col)
	case arrow.INT16:
		finishInts[int16](f, p, col)
	case arrow.INT32:
		finishInts[int32](f, p, col)
	case arrow.INT64, arrow.DURATION:
		if f.agg.Op == kernels.Sum {
			finishSums[int64](f, p, col)
		} else {
			finishInts[int64](f, p, col)
		}
	case arrow.UINT8:
		finishInts[uint8](f, p, col)
	case arrow.UINT16:
		finishInts[uint16](f, p, col)
	case arrow.UINT32:
		finishInts[uint32](f, p, col)
	case arrow.UINT64:
		if f.agg.Op == kernels.Sum {
			finishSums[uint64](f, p, col)
		} else {
			finishInts[uint64](f, p, col)
		}
	case arrow.FLOAT32:
		finishFloats[float32](f, p, col)
	case arrow.FLOAT64:
		finishFloats[float64](f, p, col)
	case arrow.NULL:
		if f.agg.Op == kernels.Any || f.agg.Op == kernels.All {
			f.finishBool(p, col)
		} else {
			finishInts[int64](f, p, col)
		}
	default:
		return device.Errorf(device.ErrUnsupported, "cpu", "", "%s of %s", f.agg.Op, c.Type())
	}
	return nil
}

func numbersOf[T any](c *memory.Column) []T {
	if c.Type().ID() == arrow.NULL {
		return nil
	}
	return memory.Values[T](c)
}

func finishInts[T integer](f *finish, p *aggPlan, col int) {
	values, o := numbersOf[T](p.cols[col].c), f.out
	switch {
	case f.agg.Op == kernels.Product:
		signed := ^T(0) < 0
		f.main = p.state("product", col, func() state {
			return &intProductState{groupValues[kernels.ExactProduct]{a: p.a}, func(row uint32) uint64 { return uint64(values[row]) }, signed}
		})
		f.write = func(s state, _ uint32, g int, at uint32) {
			product, fits := s.(*intProductState).acc.s[g].Bits(signed)
			if !fits {
				f.over.Store(true)
			}
			memory.View[uint64](o.values)[at] = product
		}
	case f.agg.Op == kernels.Mean && memory.Width(p.cols[col].c.Type()) == 8:
		f.main = p.state("wide", col, func() state { return &wideState[T]{groupValues[wide]{a: p.a}, values} })
		f.write = func(s state, count uint32, g int, at uint32) {
			memory.View[float64](o.values)[at] = s.(*wideState[T]).acc.s[g].float() / float64(count)
		}
	default:
		f.main = p.state("sum", col, func() state { return &sumState[T]{groupValues[int64]{a: p.a}, values} })
		if f.agg.Op != kernels.Mean {
			f.write = func(s state, _ uint32, g int, at uint32) {
				memory.View[int64](o.values)[at] = s.(*sumState[T]).acc.s[g]
			}
			return
		}
		f.write = func(s state, count uint32, g int, at uint32) {
			memory.View[float64](o.values)[at] = float64(s.(*sumState[T]).acc.s[g]) / float64(count)
		}
	}
}

// finishSums plans the sum of integers of 64 bits.
func finishSums[T int64 | uint64](f *finish, p *aggPlan, col int) {
	values, o := numbersOf[T](p.cols[col].c), f.out
	f.main = p.state("exact", col, func() state { return &exactState[T]{groupValues: groupValues[T]{a: p.a}, values: values} })
	f.write = func(s state, _ uint32, g int, at uint32) {
		sums := s.(*exactState[T])
		if len(sums.carries) > 0 && sums.carries[uint32(g)] != 0 {
			f.over.Store(true)
		}
		memory.View[T](o.values)[at] = sums.acc.s[g]
	}
}

func finishFloats[T float32 | float64](f *finish, p *aggPlan, col int) {
	values, o := memory.Values[T](p.cols[col].c), f.out
	if f.agg.Op == kernels.Product {
		f.main = p.state("product", col, func() state {
			return &productState{groupValues[float64]{a: p.a}, func(row uint32) float64 { return float64(values[row]) }}
		})
		f.write = func(s state, _ uint32, g int, at uint32) {
			memory.View[float64](o.values)[at] = s.(*productState).acc.s[g]
		}
		return
	}
	f.main = p.state("sum", col, func() state { return &floatState[T]{groupValues[float64]{a: p.a}, values} })
	mean := f.agg.Op == kernels.Mean
	f.write = func(s state, count uint32, g int, at uint32) {
		v := s.(*floatState[T]).acc.s[g]
		if mean {
			v /= float64(count)
		}
		memory.View[float64](o.values)[at] = v
	}
}
