package table

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
)

// joinedWhere is the join of two lists on k by plain loops, where pairs must also meet a
// condition: rows as text.
func joinedWhere(left, right []rec, kind Kind, meets func(l, r rec) bool) []string {
	var out []string
	for _, l := range left {
		found := false
		for _, r := range right {
			if l.k == nil || r.k == nil || *l.k != *r.k || !meets(l, r) {
				continue
			}
			found = true
			if !kind.leftOnly() {
				out = append(out, fmt.Sprintf("%s|%d|%s|%s", l, r.id, show(r.v), show(r.s)))
			}
		}
		switch {
		case kind == Semi && found, kind == Anti && !found:
			out = append(out, l.String())
		case kind == Left && !found:
			out = append(out, l.String()+"|null|null|null")
		}
	}
	return out
}

// Conditions over both sides, over one of them, that are null, that may fail, and none that is true.
var whereCases = []struct {
	text  string
	meets func(l, r rec) bool
}{
	{"id <> id_right", func(l, r rec) bool { return l.id != r.id }},
	{"v < v_right", func(l, r rec) bool { return l.v != nil && r.v != nil && *l.v < *r.v }},
	{"s = s_right or v_right > 50.0", func(l, r rec) bool {
		return l.s != nil && r.s != nil && *l.s == *r.s || r.v != nil && *r.v > 50
	}},
	{"v_right > 0.0", func(_, r rec) bool { return r.v != nil && *r.v > 0 }},
	{"v > 0.0", func(l, _ rec) bool { return l.v != nil && *l.v > 0 }},
	{"v > 0.0 and v_right > 0.0 and id > id_right", func(l, r rec) bool {
		return l.v != nil && *l.v > 0 && r.v != nil && *r.v > 0 && l.id > r.id
	}},
	{"k > 3", func(l, _ rec) bool { return *l.k > 3 }},
	{"100 / (id_right - id) > 2 and id <> id_right", func(l, r rec) bool { return l.id != r.id && 100/(r.id-l.id) > 2 }},
	{"id_right < 0", func(_, _ rec) bool { return false }},
	{"id_right > null", func(_, _ rec) bool { return false }},
	{"true", func(_, _ rec) bool { return true }},
}

func TestJoinsWithConditionsEqualPlainGo(t *testing.T) {
	b := testBackend(t)
	sizes := []struct{ left, right, chunks int }{{0, 5, 1}, {5, 0, 1}, {1, 1, 1}, {50, 20, 1}, {300, 60, 4}}
	for seed, s := range sizes {
		left, right := randomRecs(s.left, 12, uint64(seed)), randomRecs(s.right, 12, uint64(seed)+100)
		for i := range right {
			right[i].id += 1000 // no division by zero in the condition that may fail
		}
		lt, rt := tableOf(t, b, left, s.chunks, uint64(seed)), tableOf(t, b, right, s.chunks, uint64(seed))
		for _, kind := range []Kind{Inner, Left, Semi, Anti} {
			for _, c := range whereCases {
				what := fmt.Sprintf("seed %d: %s join where %s", seed, kind, c.text)
				want := joinedWhere(left, right, kind, c.meets)
				q := From(lt).Join(rt, kind, On("k"), Where(c.text))
				equalRows(t, what, collect(t, q), want)
				require.Len(t, collect(t, From(lt).Join(rt, kind, On("k"), Where(c.text), AnyOrder())), len(want), what)
				equalRows(t, what+", one column", collect(t, q.Select("id")), collect(t, q.Sort(Asc("id")).Select("id")))
			}
		}
	}
}

// More left rows than are probed at a time, of which each has two right rows.
func TestJoinsWithConditionsInManySlices(t *testing.T) {
	b := testBackend(t)
	n := probeRows + 1000
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	big, err := New(b, Column("id", ids))
	require.NoError(t, err)
	defer big.Release()
	small, err := New(b, Column("id", []int64{5, 5, probeRows + 3, probeRows + 3}), Column("x", []int32{1, 2, 3, 4}))
	require.NoError(t, err)
	defer small.Release()
	on := []JoinOption{On("id"), Where("x % 2 = 0 and id > x")}
	equalRows(t, "semi", collect(t, From(big).Join(small, Semi, on...)), []string{"5", fmt.Sprint(probeRows + 3)})
	equalRows(t, "anti", collect(t, From(big).Join(small, Anti, on...).Agg(Count())), []string{fmt.Sprint(n - 2)})
	equalRows(t, "left", collect(t, From(big).Join(small, Left, on...).Agg(Count(), Sum("x"), Count("x"))), []string{fmt.Sprintf("%d|6|2", n)})
	equalRows(t, "left, the first rows", collect(t, From(big).Join(small, Left, On("id"), Where("x > 0 and id > x")).Slice(4, 4)), []string{"4|null", "5|1", "5|2", "6|null"})
}

func TestConditionsOfJoinsAreNamed(t *testing.T) {
	b := testBackend(t)
	left, err := New(b, Column("a", []int64{1, 2, 2}), Column("x", []string{"p", "q", "r"}))
	require.NoError(t, err)
	defer left.Release()
	right, err := New(b, Column("b", []int64{2, 2, 3}), Column("x", []string{"q", "t", "u"}))
	require.NoError(t, err)
	defer right.Release()
	q := From(left)
	equalRows(t, "suffix", collect(t, q.Join(right, Semi, Keys("a", "b"), Suffix("_2"), Where("x <> x_2 and b = 2"))), []string{"2|q", "2|r"})
	equalRows(t, "two conditions", collect(t, q.Join(right, Anti, Keys("a", "b"), Where("x <> x_right"), Where(expr.Col("x").Ne("r")))), []string{"1|p", "2|r"})
	for want, join := range map[string]*Query{
		`unknown column "z"`:                         q.Join(right, Semi, Keys("a", "b"), Where("z > 1")),
		"is of type int64, not bool":                 q.Join(right, Left, Keys("a", "b"), Where("a + b")),
		"where: ":                                    q.Join(right, Inner, Keys("a", "b"), Where("a = ")),
		"a right join with Where":                    q.Join(right, Right, Keys("a", "b"), Where("a = b")),
		"a full join with Where":                     q.Join(right, Full, Keys("a", "b"), Where("a = b")),
		"a cross join with Where":                    q.Join(right, Cross, Where("a = b")),
		"all kinds but cross need keys":              q.Join(right, Semi, Where("a = b")),
		`two columns would be named "x"`:             q.Join(right, Semi, Keys("a", "b"), Suffix(""), Where("a = b")),
		`where: mismatch: type error at line 1, col`: q.Join(right, Anti, Keys("a", "b"), Where("a + x > 1")),
	} {
		_, err := join.Collect(t.Context())
		require.True(t, errors.Is(err, device.ErrMismatch) || errors.Is(err, device.ErrUnsupported), err)
		require.ErrorContains(t, err, want)
	}
}

// Parts of conditions that one side can be asked for go there.
func TestConditionsOfJoinsArePushed(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 1, 1)
	file := Scan(memorySource{table: table, asked: new([]ScanOptions)}).On(b)
	where := Where("v > 1.0 and v_right > 2.0 and id <> id_right")
	for want, q := range map[string]*Query{
		`semi join on k = k where id <> id_right columns [id]
  filter v > 1.0
    scan memory.test columns [id, k, v] where v > 1.0
  filter v > 2.0
    scan memory.test columns [id, k, v] where v > 2.0
`: file.Join(file, Semi, On("k"), where).Select("id"),
		`anti join on k = k where v > 1.0 and id <> id_right columns [id]
  scan memory.test columns [id, k, v]
  filter v > 2.0
    scan memory.test columns [id, k, v] where v > 2.0
`: file.Join(file, Anti, On("k"), where).Select("id"),
		`semi join on k = k, keys 1 of k columns [id]
  scan memory.test columns [id, k], bounds of k in keys 1
  filter v > 2.0
    scan memory.test columns [k, v] where v > 2.0
`: file.Join(file, Semi, On("k"), Where("v_right > 2.0")).Select("id"),
	} {
		got, err := q.Explain(t.Context())
		require.NoError(t, err)
		got, _, piped := strings.Cut(got, "pipelines:\n")
		require.True(t, piped)
		require.Equal(t, want, got)
	}
}
