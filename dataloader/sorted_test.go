package dataloader

import (
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/table"
)

// TestSorted: batches whose rows are sorted before columns of words are read have each
// value in its place, beside columns that are cast and nulls, of tables in one chunk and
// in several, in rows and in columns.
func TestSorted(t *testing.T) {
	b, a := onHost(t)
	const rows = leastUnsorted + 999
	kinds := []int{0, 0, 1, 2, 0}
	valid, words, doubles := make([]bool, rows), make([]float32, rows), make([]float64, rows)
	for i := range rows {
		valid[i], words[i], doubles[i] = i%5 > 0, float32(i), float64(i+1)
	}
	var columns []table.Series
	for k, kind := range kinds {
		name := fmt.Sprint(k)
		columns = append(columns, []table.Series{table.Column(name, words), table.Column(name, words).Valid(valid), table.Column(name, doubles)}[kind])
	}
	whole := made(t, b, columns...)
	for _, cuts := range [][]int64{nil, {1, 64, 50_000, rows - 1}} {
		of := whole
		if cuts != nil {
			of = cutAt(t, whole, cuts)
		}
		for _, layout := range []Layout{RowMajor, ColumnMajor} {
			o := Options{Batch: 3000, Shuffle: true, Masks: true, Epochs: 1, Workers: 2, Memory: a, Spare: -1, Labels: []string{"4"}, Layout: layout}
			l, seen := load(t, FromTable(of), o), make([]bool, rows)
			if s := new(scratch); !l.reader.(*tableReader).sorts(s, []int64{5, 3, leastSorted: 0}) {
				t.Fatal("batches are not sorted")
			}
			for batch, err := range l.Batches(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				for part, first := range []int{0, len(kinds) - 1} {
					x := batch.slot.tensors[part]
					values := view[float32](x.Data)
					for i, row := range batch.slot.rows[:x.Rows] {
						for c := range x.Columns {
							want, there := float32(row), byte(1)
							switch kind := kinds[first+int(c)]; {
							case kind == 1 && !valid[row]:
								want, there = 0, 0
							case kind == 2:
								want++
							}
							k := int64(i)*x.RowStride + c*x.ColumnStride
							if values[k] != want || x.Valid[k] != there {
								t.Fatalf("layout %v, row %d, column %d: %v (%d)", layout, row, c, values[k], x.Valid[k])
							}
						}
						seen[row] = true
					}
				}
			}
			if slices.Contains(seen, false) {
				t.Error("a row is missing")
			}
		}
	}
}
