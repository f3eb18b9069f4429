package kerneltest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func scan(s *Suite) {
	n := 0
	for c := range s.Cases(kernels.ScanTypes) {
		n++
		c.Domain = []Domain{Small, Wild, Keys}[n%3]
		host := s.tested.onHost()
		if !host && c.Domain == Wild {
			c.Domain = Small
		}
		column := s.Column(c)
		for op := kernels.CumulativeSum; op <= kernels.CumulativeMax; op++ {
			o := kernels.ScanOptions{Exclusive: (n+int(op))%2 == 0, KeepNulls: n%3 == 0, Checked: (n/2+int(op))%3 == 0}
			call := Call{Case: c, Note: fmt.Sprintf("%s, %+v", op, o), Tol: ZeroSigns}
			if !host {
				call.Tol = Tolerance{Abs: 1e-9, Rel: 1e-9}
				if c.Type.ID() == arrow.FLOAT32 {
					call.Tol = Tolerance{Abs: 1e-3, Rel: 1e-5}
				}
			}
			run := func(e *Env) (Result, error) { return One(e.Scan(e.Ctx, e.Stream, op, e.On(column), o)) }
			s.Check(call, run)
			if op.Types().Has(c.Type.ID()) && !o.Checked && (c.Length == 65 || c.Length == s.Long() && !o.KeepNulls) {
				s.Faults(call, run)
			}
		}
	}
	scanOverflows(s)
}

// scanOverflows has sums and products that do not fit, at known rows.
func scanOverflows(s *Suite) {
	i8, u64 := arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint64
	least := s.FromScalars(i8, kernels.Int(i8, 1), kernels.Null(i8), kernels.Int(i8, -1), kernels.Int(i8, -128), kernels.Int(i8, -1), kernels.Int(i8, 1))
	most := s.FromScalars(u64, kernels.Int(u64, -1), kernels.Null(u64), kernels.Int(u64, 1), kernels.Null(u64), kernels.Int(u64, 0))
	d := &arrow.Decimal128Type{Precision: 38, Scale: 0}
	wide := s.FromScalars(d, kernels.ScanIdentity(kernels.CumulativeMin, d), kernels.ScanIdentity(kernels.CumulativeMin, d), kernels.Null(d))
	for _, bad := range []struct {
		op     kernels.ScanOp
		column *memory.Column
		o      kernels.ScanOptions
		text   []string // none where nothing is wrong
	}{
		{kernels.CumulativeProduct, least, kernels.ScanOptions{Checked: true}, []string{"row 3", "int8"}},
		{kernels.CumulativeProduct, least, kernels.ScanOptions{Checked: true, Exclusive: true}, []string{"row 4"}},
		{kernels.CumulativeProduct, least, kernels.ScanOptions{Checked: true, KeepNulls: true}, nil},
		{kernels.CumulativeSum, least, kernels.ScanOptions{Checked: true}, []string{"row 4"}},
		{kernels.CumulativeSum, most, kernels.ScanOptions{Checked: true}, []string{"row 2", "uint64"}},
		{kernels.CumulativeSum, most, kernels.ScanOptions{Checked: true, Exclusive: true}, []string{"row 4"}},
		{kernels.CumulativeSum, wide, kernels.ScanOptions{Checked: true}, []string{"row 1"}},
		{kernels.CumulativeSum, wide, kernels.ScanOptions{Checked: true, Exclusive: true}, nil},
		{kernels.CumulativeSum, most, kernels.ScanOptions{}, nil},
	} {
		c := Case{Type: bad.column.Type(), Length: bad.column.Len()}
		s.Check(Call{Case: c, Note: fmt.Sprintf("overflow of %s, %+v", bad.op, bad.o), Text: bad.text}, func(e *Env) (Result, error) {
			return One(e.Scan(e.Ctx, e.Stream, bad.op, e.On(bad.column), bad.o))
		})
	}
	date := s.Column(Case{Type: arrow.FixedWidthTypes.Date32, Length: 3})
	for _, op := range []kernels.ScanOp{kernels.CumulativeSum, kernels.CumulativeProduct, 17} {
		s.Check(Call{Case: Case{Type: date.Type(), Length: 3}, Note: op.String(), Text: []string{op.String()}}, func(e *Env) (Result, error) {
			return One(e.Scan(e.Ctx, e.Stream, op, e.On(date), kernels.ScanOptions{}))
		})
	}
}

func benchScan(b *Bencher) {
	for _, t := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64} {
		for _, nulls := range []int{0, 10} {
			column := b.Column(t, Small, nulls)
			for _, op := range []kernels.ScanOp{kernels.CumulativeSum, kernels.CumulativeMax} {
				b.Measure(b.Name(t, nulls, "op="+op.String()), 2*Bytes(column), func(e *Env) (Result, error) {
					return One(e.Scan(e.Ctx, e.Stream, op, e.On(column), kernels.ScanOptions{}))
				})
			}
		}
	}
}
