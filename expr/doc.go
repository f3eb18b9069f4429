// Package expr holds expressions over the columns of a table. An Expr is an
// immutable tree without types, made by the builder
//
//	expr.Col("delay").Gt(15).And(expr.Col("distance").Ge(500))
//
// or of text, expr.Parse("delay > 15 and distance >= 500"), which gives the
// same tree. Bind finds the type of every node for a schema, inserts the casts
// that follow from the rules below, folds constants and finds what occurs more
// than once; Bound.Eval computes the result for columns of that schema.
//
// # Types
//
// Two numbers meet in the narrowest type that holds both: integers of one sign
// in the wider, of both signs in the signed one that is wider than either
// (int64 at most), float32 with float32 or an integer of up to 16 bits in
// float32, any other mix with a float in float64, a decimal with an integer in
// a decimal. A literal takes the type of what it meets where it fits without
// change, so that `int8column > 15` compares int8. A text literal becomes a
// date, time, timestamp, decimal or dictionary value where it meets one. Dates
// meet timestamps as timestamps, timestamps of two units in the finer one.
//
// # Nulls
//
// As the kernels have them: a null in gives a null out, And, Or, Xor and Not are
// Kleene's, comparisons of null are null, CASE takes a null condition for false.
package expr
