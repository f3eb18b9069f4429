package table

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSets: whole rows are compared, nulls and NaNs as equal, and come once.
func TestSets(t *testing.T) {
	b := testBackend(t)
	left := tableOf(t, b, randomRecs(300, 4, 1), 3, 3)
	right := tableOf(t, b, randomRecs(200, 4, 2), 2, 4)
	l, r := left.Query().Select("k", "s"), right.Query().Select("s", "k")
	has := map[string]bool{}
	for _, row := range collect(t, right.Query().Select("k", "s")) {
		has[row] = true
	}
	var both, only []string
	for _, row := range collect(t, l) {
		switch {
		case has[row] && !slices.Contains(both, row):
			both = append(both, row)
		case !has[row] && !slices.Contains(only, row):
			only = append(only, row)
		}
	}
	require.NotEmpty(t, both)
	equalRows(t, "intersect", collect(t, l.Intersect(r)), both)
	equalRows(t, "except", collect(t, l.Except(r)), only)
	few := right.Query().Select("k", "s").Filter("k = 1")
	require.NotEmpty(t, collect(t, l.Except(few)))
	_, err := l.Intersect(left.Query()).Collect(t.Context())
	require.ErrorContains(t, err, "intersect")
}

// TestWithRowNumber numbers rows over the chunks.
func TestWithRowNumber(t *testing.T) {
	b := testBackend(t)
	whole := tableOf(t, b, randomRecs(100, 9, 5), 4, 8)
	made, err := whole.WithRowNumber(t.Context(), "row", 7)
	require.NoError(t, err)
	defer made.Release()
	require.Empty(t, collect(t, made.Query().Filter("row - 7 != id")))
	require.Equal(t, int64(100), made.NumRows())
	_, err = whole.WithRowNumber(t.Context(), "k", 0)
	require.ErrorContains(t, err, `"k"`)
	_, err = whole.WithRowNumber(t.Context(), "row", 1<<63-2)
	require.ErrorContains(t, err, "64 bits")
}
