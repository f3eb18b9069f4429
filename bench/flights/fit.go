package flights

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/interop/gonum"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// design joins every flight with its origin and computes the terms of the fit as
// float64: the five of the model, then the delay.
func design(ctx context.Context, flights, airports *table.Table) (*table.Table, error) {
	f64 := arrow.PrimitiveTypes.Float64
	return table.From(flights).
		Join(table.From(airports), table.Inner, table.Keys("origin", "iata")).
		Select(
			expr.Lit(1.0).As("one"),
			expr.Col("distance").Cast(f64).Div(1000.0).As("distance"),
			expr.Col("date").Hour().Cast(f64).Div(24.0).As("hour"),
			expr.Col("latitude").Div(90.0).As("latitude"),
			expr.Col("longitude").Div(180.0).As("longitude"),
			expr.Col("delay").Cast(f64).As("delay")).
		Collect(ctx)
}

// products gives M·Mᵀ of the matrix M whose rows are the columns of t, one
// GEMM on the table's device: on the CPU through gonum's interface.
func products(ctx context.Context, t *table.Table) (*mat.SymDense, error) {
	b, k, n := t.Backend(), int64(t.NumColumns()), t.NumRows()
	s, err := b.NewStream()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var pieces []*memory.Column
	for i := range t.NumColumns() {
		for _, chunk := range t.Chunks() {
			pieces = append(pieces, chunk.Column(i))
		}
	}
	if len(pieces) == 0 {
		return nil, fmt.Errorf("no flight has a known origin: nothing to fit")
	}
	values, err := b.Concat(ctx, s, pieces)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	switch n, err := nulls(ctx, b, s, values); {
	case err != nil:
		return nil, err
	case n > 0:
		return nil, fmt.Errorf("%d terms of the fit are null", n)
	}
	if b.Device.Place() == memory.Host {
		return productsOnHost(ctx, b, memory.Values[float64](values), int(k), int(n))
	}
	out, err := memory.New(b.Device.Memory(), k*k*8)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	m := kernels.Matrix{Data: values.Buffer(1), Type: values.Type(), Offset: values.Offset(), Rows: k, Cols: n, Stride: n}
	c := kernels.Matrix{Data: out, Type: values.Type(), Rows: k, Cols: k, Stride: k}
	if err := b.GEMM(ctx, s, false, true, 1, m, m, 0, c); err != nil {
		return nil, err
	}
	host, err := memory.New(b.Device.Pinned(), out.Len())
	if err != nil {
		return nil, err
	}
	defer host.Release()
	if err := s.Copy(host, 0, out, 0, out.Len()); err != nil {
		return nil, err
	}
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	return mat.NewSymDense(int(k), append([]float64(nil), memory.View[float64](host)...)), nil
}

// productsOnHost is the same of k rows of n values that lie one after another.
func productsOnHost(ctx context.Context, on *kernels.Backend, values []float64, k, n int) (*mat.SymDense, error) {
	b, err := gonum.On(ctx, on)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	out := make([]float64, k*k)
	b.Dgemm(blas.NoTrans, blas.Trans, k, k, n, 1, values, n, values, n, 0, out, k)
	if err := b.Err(); err != nil {
		return nil, err
	}
	return mat.NewSymDense(k, out), nil
}

// nulls counts the nulls of a column, on its device where nobody knows.
func nulls(ctx context.Context, b *kernels.Backend, s device.Stream, c *memory.Column) (int64, error) {
	if n := c.NullCount(); n != memory.UnknownNulls {
		return n, nil
	}
	count, err := b.Reduce(ctx, s, kernels.Count, c, kernels.AggregateOptions{})
	if err != nil {
		return 0, err
	}
	defer count.Release()
	v, err := b.Scalar(ctx, s, count, 0)
	return c.Len() - v.Int64(), err
}

// solve finds the least squares fit from the products of all terms: the model's
// k-1 and the observations. The first term is the constant 1.
func solve(g *mat.SymDense) (coefficients []float64, r2 float64, err error) {
	k := g.SymmetricDim() - 1
	xx, xy := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i := range k {
		xy.SetVec(i, g.At(i, k))
		for j := i; j < k; j++ {
			xx.SetSym(i, j, g.At(i, j))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(xx) {
		return nil, 0, fmt.Errorf("the normal equations are singular: the terms depend on each other")
	}
	beta := mat.NewVecDense(k, nil)
	if err := chol.SolveVecTo(beta, xy); err != nil {
		return nil, 0, fmt.Errorf("the normal equations: %w", err)
	}
	n, sum, squares := g.At(0, 0), g.At(0, k), g.At(k, k)
	residual := squares - mat.Dot(beta, xy)
	return beta.RawVector().Data, 1 - residual/(squares-sum*sum/n), nil
}

// fit explains the delay of all flights.
func fit(ctx context.Context, flights, airports *table.Table) (coefficients [5]float64, r2 float64, err error) {
	t, err := design(ctx, flights, airports)
	if err != nil {
		return coefficients, 0, err
	}
	defer t.Release()
	g, err := products(ctx, t)
	if err != nil {
		return coefficients, 0, err
	}
	beta, r2, err := solve(g)
	copy(coefficients[:], beta)
	return coefficients, r2, err
}
