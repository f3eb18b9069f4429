// Package gonum runs gonum's linear algebra on volley's loops: products of
// matrices, of a matrix and a vector, and of vectors.
//
//	b, err := gonum.New(ctx)
//	if err != nil {
//		return err
//	}
//	defer b.Close()
//	blas64.Use(b)
//	blas32.Use(b)
//	c.Mul(a, b) // gonum/mat, on all processors
//	return b.Err()
//
// What volley has no loop for stays gonum's: the other operations of the
// interfaces, short vectors and small products, vectors with increments that
// run backwards, and arguments that are wrong, for which gonum panics as its
// interfaces say.
package gonum
