package table

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/profile"
)

// profiled are queries with every kind of operator.
func profiled(table *Table, file *Query) map[string]*Query {
	q := From(table)
	return map[string]*Query{
		"table":       q,
		"scan":        file,
		"filter":      file.Filter("k > 2").Select("id", expr.Col("k").Mul(2).As("k2")),
		"group":       q.Filter("k > 1").Select("k", expr.Col("v").Mul(2).As("w")).GroupBy("k").Agg(Sum("w"), Count()),
		"aggregate":   q.Agg(Count(), Max("k")),
		"sort":        q.Sort(Asc("k")).Select("id"),
		"top":         q.Sort(Desc("v"), Asc("id")).Head(3),
		"limit":       q.Filter("k > 0").Head(4),
		"none":        q.Filter("k > 1000"),
		"distinct":    q.Select("k", "s").Distinct(),
		"union":       q.Union(file).Filter("k = 1"),
		"inner join":  q.Join(file, Inner, On("k")).Select("id", "id_right"),
		"left join":   q.Join(file.Filter("k < 3"), Left, On("k")).Select("id", "id_right"),
		"right join":  q.Filter("k < 3").Join(file, Right, On("k")).Select("id", "k"),
		"full join":   q.Filter("k < 3").Join(file.Filter("k > 1"), Full, On("k")).Select("id", "k"),
		"semi join":   q.Join(file, Semi, On("k")),
		"anti join":   q.Join(file.Filter("k = 1"), Anti, On("k")),
		"cross join":  q.Head(3).Join(file.Select(expr.Col("id").As("other")), Cross),
		"scalar":      q.WithScalar("most", q.Agg(Max("k"))).Filter("k = most"),
		"intersect":   q.Select("k").Intersect(file.Select("k")),
		"shared part": q.GroupBy("k").Agg(Sum("v")).Join(q.GroupBy("k").Agg(Sum("v")), Inner, On("k")),
	}
}

// A profile changes no row, and what its steps give is what those that read them take, for all kinds of
// operators and in morsels of any length.
func TestProfiles(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(200, 5, 1), 3, 2)
	file := Scan(memorySource{table: table, asked: new([]ScanOptions)}).On(b)
	for _, rows := range []string{"1", "16", ""} {
		t.Setenv(morselVariable, rows)
		for name, q := range profiled(table, file) {
			want := collect(t, q)
			got, p, err := q.Profile(t.Context())
			require.NoError(t, err, name)
			equalRows(t, name, shown(got), want)
			require.Equal(t, got.NumRows(), p.Rows, name)
			addsUp(t, name, p)
			got.Release()
		}
	}
}

// addsUp checks that no row is lost between steps.
func addsUp(t *testing.T, name string, p *Profile) {
	t.Helper()
	for _, pipe := range p.Pipelines {
		given := p.Steps[pipe.Source].Total.RowsOut
		for _, id := range pipe.Steps {
			s := p.Steps[id].Total
			if name == "limit" { // its consumer ends before the source
				require.LessOrEqual(t, s.RowsIn, given)
			} else {
				require.Equal(t, given, s.RowsIn, "%s: %s", name, p.Steps[id].Text)
			}
			given = s.RowsOut
		}
		out := p.Steps[pipe.Output].Total
		require.Equal(t, given, out.RowsIn, name)
		require.Equal(t, out.RowsIn, out.RowsOut+pipe.Discarded, name)
	}
	result := p.Steps[stepResult]
	require.Len(t, result.Inputs, 1)
	require.Equal(t, p.Steps[result.Inputs[0]].Total.RowsOut, result.Total.RowsIn, name)
	var walk func(n *profile.Node)
	walk = func(n *profile.Node) {
		require.NotNil(t, n.Rows, n.Text)
		for _, in := range n.Inputs {
			walk(in)
		}
	}
	for _, plan := range p.Plans {
		walk(plan.Root)
	}
}

// ExplainJSON has the operators of Explain, and says where conditions go and what runs what.
func TestExplainJSON(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 2, 1)
	file := Scan(memorySource{table: table, asked: new([]ScanOptions)}).On(b)
	for name, q := range profiled(table, file) {
		text, err := q.ExplainJSON(t.Context())
		require.NoError(t, err, name)
		var p Profile
		require.NoError(t, json.Unmarshal([]byte(text), &p), name)
		plain, err := q.Explain(t.Context())
		require.NoError(t, err)
		var walk func(n *profile.Node)
		walk = func(n *profile.Node) {
			require.Contains(t, plain, n.Text, name)
			require.NotNil(t, n.Rows, name)
			for _, in := range n.Inputs {
				walk(in)
			}
		}
		for _, plan := range p.Plans {
			walk(plan.Root)
		}
	}
	text, err := file.Filter("k > 2 and s = 'a'").Select("id").ExplainJSON(t.Context())
	require.NoError(t, err)
	var p Profile
	require.NoError(t, json.Unmarshal([]byte(text), &p))
	filter := p.Plans[0].Root
	require.Equal(t, "filter", filter.Op)
	require.Equal(t, []string{"k > 2", "s = 'a'"}, filter.Conditions)
	require.Equal(t, filter.Conditions, filter.Inputs[0].SourceConditions)
	require.Len(t, p.Pipelines, 1)
	require.Equal(t, filter.Steps, p.Pipelines[0].Steps)
	require.Equal(t, b.Device.Name(), p.Device)
	_, err = file.Filter("nothing > 1").ExplainJSON(t.Context())
	require.ErrorContains(t, err, "nothing")
}

// A query that fails gives the profile of what was run until then.
func TestProfileOfFailure(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 2, 1)
	_, p, err := From(table).Filter("10 / (id - id) > 1").Profile(t.Context())
	require.Error(t, err)
	require.NotEmpty(t, p.Text())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, p, err = From(table).Sort(Asc("k")).Profile(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, strings.HasPrefix(p.HTML(), "<!DOCTYPE html>"))
}
