package table

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
)

// What an or says of some columns, and what all its branches have in common.
func TestImplied(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1 and y = 2 or x = 3 and y = 4":            "x = 1 or x = 3",
		"x = 1 and y = 2 or y = 4":                      "",
		"x = 1 and (y = 2 or x = 7 and z = 3) or x > y": "",
		"x = 1 and z = 2 and y = 2 or x = 3":            "x = 1 and z = 2 or x = 3",
		"x = 1 and 10 / x > 2 and y = 1 or x = 3":       "x = 1 or x = 3",
		"10 / x > 2 and y = 1 or x = 3":                 "",
		"x is null and y = 1 or x = z":                  "x is null or x = z",
		"not (x = 1 and y = 2)":                         "",
		"true or x = 1 and y = 2":                       "",
	} {
		c, err := expr.Parse(text)
		require.NoError(t, err)
		got := ""
		if i := implied(c, names{"x": true, "z": true}); i != nil {
			got = i.String()
		}
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"a and b or a and c":                         "a and (b or c)",
		"(a and b and x > 1) or (x > 1 and c and a)": "a and x > 1 and (b or c)",
		"a or a and c":                               "a",
		"a and b or c":                               "a and b or c",
		"a and 1 / x > 2 or a and c":                 "a and 1 / x > 2 or a and c",
		"a and b or a and c or a and b and c":        "a and (b or c or b and c)",
	} {
		c, err := expr.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, expr.AllOf(factored(c)...).String(), text)
	}
}

// Filters that an or above a join implies are asked below it, of inner and outer joins, and rows
// are the same: with nulls, which no condition lets through.
func TestImpliedFiltersGoDown(t *testing.T) {
	b := testBackend(t)
	left, right := From(tableOf(t, b, randomRecs(300, 9, 1), 3, 1)), From(tableOf(t, b, randomRecs(100, 9, 2), 2, 2))
	const either = "(id = 7 and k > 3 and id_right < 20) or (id = 9 and id_right in (4, 5) and k > 3)"
	for _, kind := range []Kind{Inner, Left, Right, Full} {
		q := left.Join(right, kind, On("k")).Filter(either).Select("id", "id_right", "k")
		sameRows(t, kind.String(), q)
		plan := shape(t, q)
		if !b.Device.Memory().Place().HostAccessible() {
			continue // nothing is known of columns there, so that a condition may not seem worth it
		}
		if kind == Inner || kind == Left {
			require.Contains(t, plan, "filter k > 3 and (id = 7 or id = 9)", "%s\n%s", kind, plan)
		}
		if kind == Inner || kind == Right {
			require.Contains(t, plan, "filter id < 20 or id in (4, 5)", "%s\n%s", kind, plan)
		}
	}
	t.Setenv("VOLLEY_OPTIMISER", "-implied")
	require.NotContains(t, shape(t, left.Join(right, Inner, On("k")).Filter(either)), "id = 7 or id = 9\n")
}
