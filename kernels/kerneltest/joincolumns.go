package kerneltest

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinCarried are what joined rows have of a side, beside its key or without: one
// column that a record can carry, of each width, one with nulls, texts, several.
var joinCarried = [][]arrow.DataType{
	{arrow.PrimitiveTypes.Float64}, {arrow.PrimitiveTypes.Int32}, {arrow.PrimitiveTypes.Uint16}, {arrow.PrimitiveTypes.Int8},
	{arrow.BinaryTypes.String}, {arrow.FixedWidthTypes.Boolean}, {}, {arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32},
}

// joinColumns joins whole sides: keys of all types that some backend does so
// with, and of others, with and without nulls, in few rows and in many, in left
// order and in any.
func joinColumns(s *Suite) {
	types := append(s.Types(kernels.JoinColumnsKeys), s.Types(kernels.TypesOf(arrow.FLOAT64, arrow.STRING, arrow.INT16))...)
	n := 0
	for i, t := range types {
		for _, rows := range [][2]int64{{0, 5}, {5, 0}, {1, 1}, {65, 33}, {300, 257}, {1100, 300}, {s.Morsel() + 9, 40}, {40, s.Morsel() + 9}} {
			n++
			if s.extent <= Tiny && n%3 != 0 || s.extent == Least && n%24 != 0 || s.extent == Brief && rows[0]+rows[1] > 2000 && i%8 != 0 {
				continue
			}
			s.scope(func() bool {
				domain := []Domain{Small, Keys, Wild}[n%3]
				if rows[0]+rows[1] > 2000 && domain == Keys {
					domain = Small
				}
				side := func(k int) kernels.JoinSide {
					make := func(t arrow.DataType, nulls Pattern, d Domain) *memory.Column {
						return s.Column(Case{Type: t, Length: rows[k], Offset: s.DrawOffset(), Nulls: nulls, Domain: d})
					}
					key := make(t, []Pattern{NoBitmap, s.DrawPattern()}[n/2%2], domain)
					var columns []*memory.Column
					for _, c := range joinCarried[(n+3*k)%len(joinCarried)] {
						columns = append(columns, make(c, []Pattern{NoBitmap, s.DrawPattern()}[n/3%2], Small))
					}
					if (n+k)%2 == 0 || len(columns) == 0 {
						columns = append(columns, key)
					}
					return kernels.JoinSide{Keys: []*memory.Column{key}, Columns: columns}
				}
				left, right := side(0), side(1)
				o := kernels.JoinOptions{AnyOrder: n/4%2 == 0, NullsEqual: n%5 == 0, Distinct: n%7 < 3}
				if o.Distinct && n%2 == 0 && rows[1] > 0 && kernels.JoinColumnsKeys.Has(t.ID()) {
					right = distinctKeys(s, t, rows[1], right)
				}
				run := func(e *Env) (Result, error) { return joinedColumns(e, left, right, o) }
				call := Call{Case: Case{Type: t, Length: rows[0]}, Note: fmt.Sprintf("columns of %d and %d rows, %+v", rows[0], rows[1], o), Tol: ZeroSigns, Also: "JoinColumns"}
				s.Check(call, run)
				if rows[0] == 300 || rows[0] > 2000 {
					if rows[0] > 2000 {
						run = func(e *Env) (Result, error) { return joinedRows(e, left, right, o) }
					}
					s.Faults(call, run)
				}
				return true
			})
		}
	}
	if s.extent > Least {
		s.scope(func() bool { joinColumnsRefuses(s); return true })
	}
}

// distinctKeys is a side whose keys are close to each other and come once, some of them
// null, in a column that begins at some row of its buffers. Where the key was among the
// side's columns the new one is.
func distinctKeys(s *Suite, t arrow.DataType, rows int64, side kernels.JoinSide) kernels.JoinSide {
	offset, least := s.DrawOffset(), int64(s.Rand.IntN(3))
	values := make([]kernels.Scalar, offset+rows)
	for i, k := range s.Rand.Perm(len(values)) {
		if values[i] = kernels.Int(t, least+int64(k)); s.Rand.IntN(9) == 0 {
			values[i] = kernels.Null(t)
		}
	}
	key, err := s.FromScalars(t, values...).Slice(offset, rows)
	s.must(err)
	s.Own(key)
	for i, c := range side.Columns {
		if c == side.Keys[0] {
			side.Columns[i] = key
		}
	}
	return kernels.JoinSide{Keys: []*memory.Column{key}, Columns: side.Columns}
}

func joinColumnsRefuses(s *Suite) {
	i64 := arrow.PrimitiveTypes.Int64
	one := []*memory.Column{s.FromScalars(i64, kernels.Int64(1))}
	two := []*memory.Column{s.FromScalars(i64, kernels.Int64(1), kernels.Int64(2))}
	other := []*memory.Column{s.FromScalars(arrow.PrimitiveTypes.Int32, kernels.Int(arrow.PrimitiveTypes.Int32, 1))}
	for _, c := range []struct {
		note        string
		text        []string
		left, right kernels.JoinSide
	}{
		{"columns of another length", []string{"1 rows", "2"}, kernels.JoinSide{Keys: one, Columns: two}, kernels.JoinSide{Keys: one}},
		{"keys of two types", []string{"int64", "int32"}, kernels.JoinSide{Keys: one, Columns: one}, kernels.JoinSide{Keys: other}},
		{"no columns", []string{"no columns"}, kernels.JoinSide{Keys: one}, kernels.JoinSide{Keys: one}},
		{"no keys", []string{"no key"}, kernels.JoinSide{}, kernels.JoinSide{Keys: one}},
	} {
		call := Call{Case: Case{Type: i64, Length: 1}, Note: c.note, Text: c.text}
		s.Check(call, func(e *Env) (Result, error) { return joinedColumns(e, c.left, c.right, kernels.JoinOptions{}) })
	}
}

// joinedColumns is the rows of a join as texts, sorted where they may come in any order.
func joinedColumns(e *Env, left, right kernels.JoinSide, o kernels.JoinOptions) (Result, error) {
	all := []string{}
	err := eachJoined(e, left, right, o, func(columns []*memory.Column) error {
		some, err := rowTexts(e, columns)
		all = append(all, some...)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	if o.AnyOrder {
		slices.Sort(all)
	}
	return Result{Values: []any{all}}, nil
}

// joinedRows is the number of a join's rows: of calls that are made for their
// errors, hundreds of times.
func joinedRows(e *Env, left, right kernels.JoinSide, o kernels.JoinOptions) (Result, error) {
	n := int64(0)
	err := eachJoined(e, left, right, o, func(columns []*memory.Column) error { n += columns[0].Len(); return nil })
	if err != nil {
		return Result{}, err
	}
	return Result{Values: []any{n}}, nil
}

// eachJoined gives f the joined rows' columns, some rows at a time.
func eachJoined(e *Env, left, right kernels.JoinSide, o kernels.JoinOptions, f func([]*memory.Column) error) error {
	there := map[*memory.Column]*memory.Column{} // a key that is among the columns stays the same
	on := func(side kernels.JoinSide) (moved kernels.JoinSide) {
		for _, list := range []struct {
			to   *[]*memory.Column
			from []*memory.Column
		}{{&moved.Keys, side.Keys}, {&moved.Columns, side.Columns}} {
			for _, c := range list.from {
				if there[c] == nil {
					there[c] = e.On(c)
				}
				*list.to = append(*list.to, there[c])
			}
		}
		return moved
	}
	rows, err := e.JoinColumns(e.Ctx, e.Stream, on(left), on(right), o)
	if err != nil {
		return err
	}
	defer rows.Release()
	for {
		columns, err := rows.Next(e.Ctx, 1<<20)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		err = f(columns)
		for _, c := range columns {
			c.Release()
		}
		if err != nil {
			return err
		}
	}
}

// rowTexts are rows of columns as texts.
func rowTexts(e *Env, columns []*memory.Column) ([]string, error) {
	here := make([]*memory.Column, 0, len(columns))
	defer func() {
		for _, h := range here {
			h.Release()
		}
	}()
	for _, c := range columns {
		h, err := device.Move(context.Background(), e.Stream, memory.Heap, c)
		if err != nil {
			return nil, err
		}
		if here = append(here, h); h.Len() != here[0].Len() {
			return nil, fmt.Errorf("columns of %d and %d rows", here[0].Len(), h.Len())
		}
	}
	texts := make([]string, here[0].Len())
	var row []byte
	for i := range texts {
		row = row[:0]
		for _, h := range here {
			row = append(append(row, '|'), kernels.ScalarAt(h, int64(i)).String()...)
		}
		texts[i] = string(row)
	}
	return texts, nil
}
