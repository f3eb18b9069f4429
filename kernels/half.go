package kernels

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// Columns of float16 are moved as the uint16 of the same bits: by Take, Filter, FilterWhere, Concat and as columns of SortColumns. No
// kernel computes with them, so that the backends need not know them.

func isHalf(c *memory.Column) bool { return c != nil && c.Type().ID() == arrow.FLOAT16 }

// moved is f of columns with those of float16 as uint16, and what it gives of these as float16 again. f gives a column for each that it
// is given, or, where joined, one for all; or none.
func moved(columns []*memory.Column, joined bool, f func([]*memory.Column) ([]*memory.Column, error)) ([]*memory.Column, error) {
	words := make([]*memory.Column, 0, len(columns))
	defer func() {
		for _, c := range words {
			c.Release()
		}
	}()
	for _, c := range columns {
		if !isHalf(c) {
			words = append(words, c.Retain())
			continue
		}
		w, err := c.WithType(arrow.PrimitiveTypes.Uint16)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
	made, err := f(words)
	if err != nil {
		return nil, err
	}
	for i, c := range made {
		if !isHalf(columns[i]) || joined && i > 0 {
			continue
		}
		if made[i], err = c.WithType(columns[i].Type()); err != nil {
			made[i] = c
			for _, c := range made {
				c.Release()
			}
			return nil, err
		}
		c.Release()
	}
	return made, nil
}

// movedOne is moved of one column, or of columns that are joined.
func movedOne(columns []*memory.Column, f func([]*memory.Column) (*memory.Column, error)) (*memory.Column, error) {
	made, err := moved(columns, true, func(words []*memory.Column) ([]*memory.Column, error) {
		c, err := f(words)
		return []*memory.Column{c}, err
	})
	if err != nil {
		return nil, err
	}
	return made[0], nil
}

// anyHalf reports whether one of the columns is of float16.
func anyHalf(columns []*memory.Column) bool { return slices.ContainsFunc(columns, isHalf) }
