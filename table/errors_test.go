package table

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func TestErrorsSayWhatAndWhere(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(30, 5, 1), 2, 1)
	var asked []ScanOptions
	source := memorySource{table: table, asked: &asked}
	q := From(table)
	for name, c := range map[string]struct {
		q    *Query
		want []string
	}{
		"unknown column":         {q.Filter("ids > 3"), []string{"filter", `"ids"`, "did you mean id?"}},
		"unknown in select":      {q.Select("identity"), []string{"select", `"identity"`, "there are id, k, v, s"}},
		"unknown to rename":      {q.Rename("vv", "x"), []string{`"vv"`, "did you mean v?"}},
		"unknown to drop":        {q.Drop("q"), []string{`unknown column "q"`}},
		"unknown sort key":       {q.Sort(Asc("kk")), []string{"sort", `"kk"`, "did you mean k?"}},
		"unknown group key":      {q.GroupBy("kk").Agg(Count()), []string{"group by", `"kk"`}},
		"unknown in aggregate":   {q.GroupBy("k").Agg(Mean("w")), []string{"mean", `"w"`}},
		"unknown distinct":       {q.Distinct("x1"), []string{"distinct", `"x1"`}},
		"unknown join key":       {q.Join(table, Inner, Keys("k", "key")), []string{"join", "the right side", `"key"`}},
		"mismatched join keys":   {q.Join(table, Inner, Keys("k", "s")), []string{`column "k" of type int64`, `column "s" of type utf8`}},
		"join of int and float":  {q.Join(table, Inner, Keys("k", "v")), []string{`"k" of type int64`, `"v" of type float64`}},
		"clashing suffix":        {q.Join(table, Inner, On("k"), Suffix("")), []string{`two columns would be named "id"`}},
		"join without keys":      {q.Join(table, Inner), []string{"inner join on 0 keys"}},
		"cross with keys":        {q.Join(table, Cross, On("k")), []string{"cross takes none"}},
		"syntax":                 {q.Filter("k >"), []string{"filter", "line 1, column 4"}},
		"type":                   {q.Filter("s > 3"), []string{"line 1, column 3", `column "s" of type utf8`}},
		"no condition":           {q.Filter("k + 1"), []string{"k + 1 is of type int64, not bool"}},
		"two of one name":        {q.Select("k", "k"), []string{`two columns are named "k"`}},
		"mean of text":           {q.Agg(Mean("s")), []string{"mean of s of type utf8"}},
		"no sort key":            {q.Sort(), []string{"sort without a key"}},
		"negative head":          {q.Head(-1), []string{"-1 rows"}},
		"not an expression":      {q.Select(7), []string{"a int where a column's name or an expression is needed"}},
		"union of other columns": {q.Union(q.Drop("s")), []string{"union", `"s"`}},
		"union of other types":   {q.Union(q.WithColumn("v", "k")), []string{`column "v" is of type float64 on the left and int64 on the right`}},
		"union with nothing":     {q.Union(nil), []string{"no table or query given"}},
		"division by zero":       {q.Select(expr.Col("id").Div(expr.Col("id"))), []string{"row 0"}},
		"overflow":               {q.Select(expr.Col("id").AddChecked(int64(1<<63 - 1)).As("x")), []string{"row 1"}},
		"no backend":             {Scan(source), []string{"call On"}},
		"first error is kept":    {q.Filter("k >").Select("nope").Head(-1), []string{"line 1, column 4"}},
	} {
		got, err := c.q.Collect(t.Context())
		if err == nil {
			got.Release()
			t.Errorf("%s: no error", name)
			continue
		}
		if !errors.Is(err, device.ErrMismatch) && !errors.Is(err, device.ErrUnsupported) && !errors.Is(err, device.ErrValue) {
			t.Errorf("%s: %v is of no kind", name, err)
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
	}
}

// TestSourceFails: an error of a reader comes out of every operator, and what was
// held is given back.
func TestSourceFails(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(300, 5, 6), 3, 6)
	broken := errors.New("broken page")
	var asked []ScanOptions
	q := Scan(memorySource{table: table, asked: &asked, fail: broken}).On(b)
	for name, q := range operations(q, From(table)) {
		if got, err := q.Collect(t.Context()); !errors.Is(err, broken) {
			got.Release()
			t.Errorf("%s: %v", name, err)
		}
	}
}

// panicking is a source that panics in one of its calls.
type panicking struct {
	memorySource
	in string
}

func (p panicking) Schema(ctx context.Context) (*arrow.Schema, error) {
	if p.in == "schema" {
		panic("torn")
	}
	return p.memorySource.Schema(ctx)
}

func (p panicking) Ranges(context.Context) ([]map[string]expr.Range, error) {
	if p.in == "ranges" {
		panic("torn")
	}
	return nil, nil
}

func (p panicking) Scan(ctx context.Context, b *kernels.Backend, o ScanOptions) (BatchReader, error) {
	if p.in == "scan" {
		panic("torn")
	}
	return p.memorySource.Scan(ctx, b, o)
}

// TestSourcePanics: whatever a source panics in is an error of the call, which says so.
func TestSourcePanics(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(30, 5, 6), 3, 6)
	for _, in := range []string{"schema", "ranges", "scan"} {
		q := Scan(panicking{memorySource{table: table, asked: new([]ScanOptions)}, in}).On(b)
		q = q.Join(q, Inner, On("id")).Join(table, Inner, On("id"), Suffix("_3")).Filter("k > 1")
		_, err := q.Collect(t.Context())
		require.ErrorContains(t, err, "torn", in)
		_, _, err = q.Profile(t.Context())
		require.ErrorContains(t, err, "torn", in)
		if in == "scan" { // which these do not
			continue
		}
		_, err = q.Explain(t.Context())
		require.ErrorContains(t, err, "torn", in)
		_, err = q.ExplainJSON(t.Context())
		require.ErrorContains(t, err, "torn", in)
	}
}

// operations are every long operation on q.
func operations(q *Query, other Relation) map[string]*Query {
	return map[string]*Query{
		"filter":   q.Filter("v > 3 and k < 4"),
		"select":   q.Select(expr.Col("v").Mul(2).Add(expr.Col("k")).As("x"), "s"),
		"sort":     q.Sort(Asc("s"), Desc("v")),
		"top":      q.TopK(50, Desc("v")),
		"distinct": q.Distinct("s", "v"),
		"group":    q.GroupBy("s", "id").Agg(Count(), Mean("v"), Var("k")),
		"parts":    q.GroupBy("s", "id").Agg(Count(), Mean("v")),
		"join":     q.Join(other, Inner, On("id")),
		"right":    q.Join(other, Right, On("id")),
		"built":    other.Query().Join(q, Full, On("id")),
		"cross":    q.Head(2000).Join(other, Cross).Agg(Sum("id")),
		"union":    q.Union(other),
	}
}

// bigTable has enough rows that every operation takes a while.
func bigTable(t testing.TB, b *kernels.Backend, rows int) *Table {
	t.Helper()
	ids, k, v, s := make([]int64, rows), make([]int64, rows), make([]float64, rows), make([]string, rows)
	for i := range ids {
		ids[i], k[i], v[i] = int64(i*7919%rows), int64(i%11), float64(i*31%1009)
		s[i] = string(rune('a' + i%13))
	}
	half := int64(rows / 2)
	whole, err := New(b, Column("id", ids), Column("k", k), Column("v", v), Column("s", s))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	one, _ := whole.Chunks()[0].Slice(0, half)
	two, _ := whole.Chunks()[0].Slice(half, int64(rows)-half)
	table, err := NewTable(b, whole.Schema(), []*Batch{one, two})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Release)
	return table
}

func TestOperationsStopWithTheirContext(t *testing.T) {
	b := testBackend(t)
	rows := 100_000
	if b.Device.Info().Emulated {
		rows = 50_000 // each takes longer than elsewhere all the same
	}
	table := bigTable(t, b, rows)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, q := range operations(From(table), table) {
		got, err := q.Collect(ended)
		if !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", name, err)
			got.Release()
		}
		for wait := time.Microsecond; wait < 10*time.Second; wait *= 3 { // until it ends before the context does
			ctx, stop := context.WithTimeout(t.Context(), wait)
			got, err := q.Collect(ctx)
			stop()
			if err == nil {
				got.Release()
				break
			}
			if !errors.Is(err, device.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s after %s: %v", name, wait, err)
			}
		}
	}
}

func TestOperationsWithinTooLittleMemory(t *testing.T) {
	for _, free := range []int64{1 << 10, 1 << 16, 1 << 19, 1 << 21} {
		var limited *memory.Limited
		limit := func(int64) {}
		b := backendOver(t, func(a memory.Allocator) memory.Allocator {
			limit = func(n int64) { limited = memory.NewLimited(a, n) }
			limit(0)
			return switched{memory.NewLimited(a, 64<<20), &limited}
		})
		table := bigTable(t, b, 300_000)
		failed := 0
		all := operations(From(table), table)
		all["cross"] = From(table).Head(20).Join(table, Cross).Agg(Sum("id")) // six hundred million pairs take no more memory
		for name, q := range all {
			limit(free)
			got, err := q.Collect(t.Context())
			if err == nil {
				got.Release()
			} else if failed++; !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "requested") || !strings.Contains(err.Error(), "free") {
				t.Errorf("%s within %d bytes: %v", name, free, err)
			}
			if limited.InUse() != 0 {
				t.Errorf("%s within %d bytes: %d bytes leaked", name, free, limited.InUse())
			}
			limit(0)
		}
		if failed == 0 && free < 1<<19 {
			t.Errorf("nothing failed within %d bytes", free)
		}
	}
}

// switched allocates from tight once that has a limit.
type switched struct {
	memory.Allocator
	tight **memory.Limited
}

func (s switched) Allocate(n int64) (memory.Block, error) {
	if (*s.tight).Limit() > 0 {
		return (*s.tight).Allocate(n)
	}
	return s.Allocator.Allocate(n)
}

func (s switched) Free(b memory.Block) {
	if (*s.tight).Limit() > 0 {
		(*s.tight).Free(b)
		return
	}
	s.Allocator.Free(b)
}

func TestBatchesCanStop(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(100, 5, 4), 4, 4)
	rows := int64(0)
	for batch, err := range From(table).Filter("id >= 0").Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows += batch.Len()
		break
	}
	if rows == 0 || rows == 100 {
		t.Errorf("%d rows in the first batch", rows)
	}
	for batch, err := range From(table).Filter("nope").Batches(t.Context()) {
		if batch != nil || err == nil {
			t.Error("a batch of a query that cannot run")
		}
	}
}
