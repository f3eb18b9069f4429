package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// A sample finds keys that come twice where many do, wherever they lie, and none
// among keys that do not.
func TestRepeatedKeys(t *testing.T) {
	const rows = 1 << 20
	b := testBackend(t)
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := rand.New(rand.NewPCG(1, 2))
	shuffled := r.Perm(rows)
	for name, c := range map[string]struct {
		key  func(i int) int64
		want bool
	}{
		"in order":      {func(i int) int64 { return int64(i) }, false},
		"shuffled":      {func(i int) int64 { return int64(shuffled[i]) }, false},
		"drawn":         {func(int) int64 { return r.Int64N(rows) }, true},
		"side by side":  {func(i int) int64 { return int64(i / 2) }, true},
		"of the halves": {func(i int) int64 { return int64(shuffled[i] / 2) }, true},
	} {
		keys := make([]int64, rows)
		for i := range keys {
			keys[i] = c.key(i)
		}
		x, err := New(b, Column("k", keys))
		if err != nil {
			t.Fatal(err)
		}
		host, err := b.OnHost(t.Context(), s, x.Chunks()[0].Columns()[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := repeatedKeys(host); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		host.Release()
		x.Release()
	}
}

// A join in any order of close keys has the rows of the one in order, where no key
// comes twice and where one does that no sample shows.
func TestJoinOfCloseKeys(t *testing.T) {
	t.Setenv("VOLLEY_OPTIMISER", "-joinorder,-reduce") // the right side is built
	b, most := testBackend(t), int64(wholeClose+1000)
	if b.Set.JoinColumns.Func == nil {
		most = 100_000 // joined as any others, however many
	}
	few := []int64{3, 0, 5, 7, 0} // of which the second becomes one that is not there, and the fifth the last one
	joinsOfCloseKeys(t, b, most, few)
	if b.Set.JoinColumns.Func == nil {
		return
	}
	// Of fewer rows a table is the way unless parts cost less, and it is where left rows are too many for parts.
	joinsOfCloseKeys(t, b, wholeLeast+1000, few)
	many := make([]int64, wholeMost*(wholeLeast+2000))
	copy(many, few)
	for i := len(few); i < len(many); i++ {
		many[i] = -1
	}
	joinsOfCloseKeys(t, b, wholeLeast+1000, many)
}

// joinsOfCloseKeys joins left keys, of which four are there, with so many right rows.
func joinsOfCloseKeys(t *testing.T, b *kernels.Backend, rows int64, leftKeys []int64) {
	s, err := b.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	leftKeys = slices.Clone(leftKeys)
	leftKeys[1], leftKeys[4] = rows, rows-1
	numbers := make([]int32, len(leftKeys))
	for i := range numbers {
		numbers[i] = int32(i)
	}
	left, err := New(b, Column("k", leftKeys), Column("v", numbers))
	if err != nil {
		t.Fatal(err)
	}
	defer left.Release()
	for _, last := range []int64{rows - 1, 5} {
		k, w := make([]int64, rows), make([]int32, rows)
		for i := range k {
			k[i], w[i] = int64(i), int32(i)
		}
		k[rows-1] = last
		right, err := New(b, Column("k", k), Column("w", w))
		if err != nil {
			t.Fatal(err)
		}
		key := right.Chunks()[0].Columns()[0]
		host, err := b.OnHost(t.Context(), s, key)
		if err != nil {
			t.Fatal(err)
		}
		if repeatedKeys(host) {
			t.Error("the last row is in the sample")
		}
		host.Release()
		built, err := b.JoinBuild(t.Context(), s, []*memory.Column{key}, kernels.JoinOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// Only a set that has joins of columns need know it.
		if u, ok := built.(kernels.UniqueTable); !ok || u.Unique() != (last != 5 && b.Set.JoinColumns.Func != nil) {
			t.Errorf("the table does not know whether a key comes twice: last is %d", last)
		}
		built.Release()
		// By a table, and by parts where they cost less however few rows there are.
		asked, old := 0, joinsApart
		joinsApart = func(*kernels.Backend, int64) bool { return false }
		want := collect(t, From(left).Join(From(right), Inner, On("k")))
		got := collect(t, From(left).Join(From(right), Inner, On("k"), AnyOrder()))
		joinsApart = func(_ *kernels.Backend, n int64) bool { asked++; return n == rows }
		equalRows(t, "close keys apart", collect(t, From(left).Join(From(right), Inner, On("k"))), want)
		some := collect(t, From(left).Join(From(right), Inner, On("k"), AnyOrder()))
		joinsApart = old
		if asked != 2 && b.Set.JoinColumns.Func != nil {
			t.Errorf("the costs were asked %d times", asked)
		}
		for _, rows := range [][]string{want, got, some} {
			slices.Sort(rows)
		}
		equalRows(t, "close keys", got, want)
		equalRows(t, "close keys in any order apart", some, want)
		if len(got) != 4 {
			t.Errorf("%d rows, last is %d", len(got), last)
		}
		right.Release()
	}
}

// Close keys that come a few times are joined whole in any order, from as few rows on
// as keys that are not close, with the same rows.
func TestJoinOfCloseRepeatedKeys(t *testing.T) {
	b := testBackend(t)
	for _, times := range []int64{1, 2, 3, 2 * wholeOften} {
		n := int64(wholeLeast + 1000)
		k, w := make([]int64, n), make([]int64, n)
		for i := range n {
			k[i], w[i] = i*7919%n/times, i
		}
		right, err := New(b, Column("k", k), Column("w", w))
		if err != nil {
			t.Fatal(err)
		}
		left, err := New(b, Column("k", k[:n/2]), Column("v", w[:n/2]))
		if err != nil {
			t.Fatal(err)
		}
		all := []Aggregate{Count(), Sum("k"), Sum("v"), Sum("w"), Sum(expr.Col("v").Mul(expr.Col("w")).Mod(1000003))}
		ordered := collect(t, From(left).Join(From(right), Inner, Keys("k", "k")).Agg(all...))
		equalRows(t, fmt.Sprintf("%d times", times), collect(t, From(left).Join(From(right), Inner, Keys("k", "k"), AnyOrder()).Agg(all...)), ordered)
		left.Release()
		right.Release()
	}
	for _, c := range []struct {
		anyOrder bool
		key      func(i int64) int64
		want     wholeWay
	}{
		{true, func(i int64) int64 { return i / 2 }, wholeAlways},
		{false, func(i int64) int64 { return i / 2 }, wholeNever},
		{true, func(i int64) int64 { return i / 8 * 32 }, wholeNever}, // far and in order
		{true, func(i int64) int64 { return i * 7919 % wholeLeast * 4 }, wholeAlways},
		{true, func(i int64) int64 { return i * 2 * wholeApart }, wholeAlways},
	} {
		key := oneColumn(t, b, int64(wholeLeast), c.key)
		defer key.Release()
		if !b.Set.JoinsColumns([]*memory.Column{key}, false) {
			continue
		}
		schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
		bound, err := expr.Col("k").Bind(schema)
		if err != nil {
			t.Fatal(err)
		}
		build, err := NewBatch(schema, key.Len(), []*memory.Column{key.Retain()})
		if err != nil {
			t.Fatal(err)
		}
		defer build.Release()
		node := &joinNode{kind: Inner, outputs: []joinOutput{leftOutput("k", "k")}}
		node.anyOrder = c.anyOrder
		o := &probeStep{r: &runner{backend: b}, node: node, build: build, keys: []*memory.Column{key}, leftKeys: bound, rightKeys: bound}
		if got := o.wholeWay(); got != c.want {
			t.Errorf("any order %t: way %d, want %d", c.anyOrder, got, c.want)
		}
	}
}

// oneColumn is a column of whole numbers.
func oneColumn(t *testing.T, b *kernels.Backend, n int64, of func(i int64) int64) *memory.Column {
	t.Helper()
	values := make([]int64, n)
	for i := range values {
		values[i] = of(int64(i))
	}
	x, err := New(b, Column("k", values))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	return x.Chunks()[0].Columns()[0].Retain()
}
