package table

import (
	"fmt"
	"testing"
)

// joined is the join of two lists by plain loops: rows as text.
func joined(left, right []rec, kind Kind, nullsEqual bool) []string {
	match := func(a, b rec) bool {
		if a.k == nil || b.k == nil {
			return nullsEqual && a.k == nil && b.k == nil
		}
		return *a.k == *b.k
	}
	tail := func(r *rec) string {
		if r == nil {
			return "null|null|null"
		}
		return fmt.Sprintf("%d|%s|%s", r.id, show(r.v), show(r.s))
	}
	var out []string
	hit := make([]bool, len(right))
	for _, l := range left {
		found := false
		for j, r := range right {
			if kind == Cross {
				out = append(out, l.String()+"|"+r.String())
				continue
			}
			if !match(l, r) {
				continue
			}
			found, hit[j] = true, true
			if !kind.leftOnly() {
				out = append(out, l.String()+"|"+tail(&r))
			}
		}
		if kind == Semi && found || kind == Anti && !found {
			out = append(out, l.String())
		}
		if !found && (kind == Left || kind == Full) {
			out = append(out, l.String()+"|"+tail(nil))
		}
	}
	if kind == Right || kind == Full {
		for j, r := range right {
			if !hit[j] {
				out = append(out, fmt.Sprintf("null|%s|null|null|%s", show(r.k), tail(&r)))
			}
		}
	}
	return out
}

func TestJoinsEqualPlainGo(t *testing.T) {
	b := testBackend(t)
	sizes := []struct{ left, right, chunks int }{{0, 5, 1}, {5, 0, 1}, {0, 0, 1}, {1, 1, 1}, {50, 20, 1}, {400, 60, 4}}
	for seed, s := range sizes {
		left, right := randomRecs(s.left, 30, uint64(seed)), randomRecs(s.right, 30, uint64(seed)+100)
		lt, rt := tableOf(t, b, left, s.chunks, uint64(seed)), tableOf(t, b, right, s.chunks, uint64(seed))
		for kind := Inner; kind <= Anti; kind++ {
			what := fmt.Sprintf("seed %d: %s join", seed, kind)
			equalRows(t, what, collect(t, From(lt).Join(rt, kind, On("k"))), joined(left, right, kind, false))
			equalRows(t, what+" with equal nulls", collect(t, From(lt).Join(rt, kind, On("k"), NullsEqual())), joined(left, right, kind, true))
		}
		if s.left*s.right < 2000 {
			equalRows(t, "cross join", collect(t, From(lt).Join(rt, Cross)), joined(left, right, Cross, false))
		}
	}
}

// TestJoinsInManySlices: more left rows than are probed at a time, and a cross
// join of more pairs.
func TestJoinsInManySlices(t *testing.T) {
	b := testBackend(t)
	n := probeRows + 1000
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	big, err := New(b, Column("id", ids))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Release()
	small, err := New(b, Column("id", []int64{-7, 5, probeRows + 3}), Column("x", []int32{1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	defer small.Release()
	equalRows(t, "inner", collect(t, From(big).Join(small, Inner, On("id"))), []string{"5|2", fmt.Sprintf("%d|3", probeRows+3)})
	equalRows(t, "right", collect(t, From(big).Join(small, Right, On("id"))), []string{"5|2", fmt.Sprintf("%d|3", probeRows+3), "-7|1"})
	equalRows(t, "full", collect(t, From(big).Join(small, Full, On("id")).Agg(Count(), Count("x"), Sum("x"), Min("id"))),
		[]string{fmt.Sprintf("%d|3|6|-7", n+1)})
	sum := fmt.Sprint(3 * n * (n - 1) / 2)
	equalRows(t, "cross", collect(t, From(big).Join(small, Cross).Agg(Count(), Sum("id"), Sum("x"))),
		[]string{fmt.Sprintf("%d|%s|%d", 3*n, sum, 6*n)})
	equalRows(t, "cross with the big side right", collect(t, From(small).Join(big, Cross).Agg(Count(), Sum("id_right"), Sum("x"))),
		[]string{fmt.Sprintf("%d|%s|%d", 3*n, sum, 6*n)})
}

func TestJoinNamesAndTypes(t *testing.T) {
	b := testBackend(t)
	left, _ := New(b, Column("a", []int32{1, 2, 3}), Column("x", []string{"p", "q", "r"}))
	defer left.Release()
	right, _ := New(b, Column("b", []int64{2, 3, 4}), Column("x", []string{"s", "t", "u"}))
	defer right.Release()
	q := From(left).Join(right, Full, Keys("a", "b"), Suffix("_2"))
	table, err := q.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	if got := fmt.Sprint(fieldNames(table.Schema())); got != "[a x b x_2]" {
		t.Errorf("columns %s", got)
	}
	equalRows(t, "int32 = int64", shown(table), []string{"1|p|null|null", "2|q|2|s", "3|r|3|t", "null|null|4|u"})
	equalRows(t, "one name, two types", collect(t, From(left).Rename("a", "k").Join(From(right).Rename("b", "k"), Full, On("k"))),
		[]string{"1|p|null", "2|q|s", "3|r|t", "4|null|u"})
	for name, want := range map[string]Kind{"INNER": Inner, "left_outer": Left, "Right Outer": Right, "full outer": Full, "outer": Full, "left semi": Semi, "left_anti": Anti, "cross": Cross} {
		if k, err := ParseKind(name); err != nil || k != want {
			t.Errorf("%s is %s, %v", name, k, err)
		}
	}
	if _, err := ParseKind("sideways"); err == nil {
		t.Error("sideways is a kind")
	}
}
