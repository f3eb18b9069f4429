package kerneltest

import (
	"context"
	"regexp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Scalar draws a scalar of a type, of a dictionary type one of its values; one
// of eight is null.
func (s *Suite) Scalar(t arrow.DataType, d Domain) kernels.Scalar {
	if dict, ok := t.(*arrow.DictionaryType); ok {
		t = dict.ValueType
	}
	if s.Rand.IntN(8) == 0 {
		return kernels.Null(t)
	}
	return kernels.ScalarAt(s.Column(Case{Type: t, Length: 1, Domain: d}), 0)
}

// Pair draws the two sides of an operation: columns of c's shape and types a
// and b, or one of them a scalar.
func (s *Suite) Pair(c Case, a, b arrow.DataType) (x, y kernels.Datum) {
	form := s.Rand.IntN(4)
	return s.Side(c, a, form == 1), s.Side(c, b, form == 2)
}

// Side is a column of c's shape and type t, or a scalar.
func (s *Suite) Side(c Case, t arrow.DataType, scalar bool) kernels.Datum {
	if scalar {
		return s.Scalar(t, c.Domain)
	}
	c.Type = t
	column := s.Column(c)
	return column
}

// Another is c with other nulls and another offset.
func (s *Suite) Another(c Case) Case {
	c.Nulls, c.Offset = s.DrawPattern(), s.DrawOffset()
	return c
}

// form says what a side is, for the text of a failure.
func form(d kernels.Datum) string {
	if v, ok := d.(kernels.Scalar); ok {
		return v.Type().String() + " scalar " + v.String()
	}
	return d.Type().String()
}

var rowText = regexp.MustCompile(`row \d+`)

// CheckRow is Check where the call may fail by its data: then the row that the
// error names must be the reference's too. It reports whether the call works.
func (s *Suite) CheckRow(c Call, f func(*Env) (Result, error)) bool {
	s.Helper()
	r, err := s.reference.call(context.Background(), f)
	r.Release()
	if err != nil {
		if row := rowText.FindString(err.Error()); row != "" {
			c.Text = append(c.Text, row)
		}
	}
	s.Check(c, f)
	return err == nil
}

// refuses checks that a call fails on both backends, with the given parts in
// its error.
func (s *Suite) refuses(note string, f func(*Env) (Result, error), text ...string) {
	s.Helper()
	s.Check(Call{Note: note, Case: Case{Type: arrow.Null}, Text: text}, f)
}

// DrawDomain draws a domain.
func (s *Suite) DrawDomain() Domain { return Domain(s.Rand.IntN(3)) }

// golden holds what the backend gives to a column.
func (s *Suite) golden(note string, f func(*Env) (Result, error), want *memory.Column) {
	s.Helper()
	s.near(note, f, want, Tolerance{})
}

// near holds what the backend gives to a column, within a tolerance.
func (s *Suite) near(note string, f func(*Env) (Result, error), want *memory.Column, tol Tolerance) {
	s.Helper()
	got, err := s.tested.call(context.Background(), f)
	defer got.Release()
	if without(err, nil) {
		return
	}
	if err != nil {
		s.Errorf("%s(%s): %v", s.kernel, note, err)
		return
	}
	if err := Equal(got.Columns[0], want, tol); err != nil {
		s.Errorf("%s(%s): %v", s.kernel, note, err)
	}
}
