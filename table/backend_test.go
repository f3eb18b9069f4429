package table

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// TestOnRemoteDevice runs all tests on a device whose memory the host cannot
// address.
func TestOnRemoteDevice(t *testing.T) { backends.Again(t, "remote") }

// testBackend is the backend of the test run with its memory counted: the test
// fails on a leak.
func testBackend(t testing.TB) *kernels.Backend {
	t.Helper()
	return backendOver(t, func(a memory.Allocator) memory.Allocator { return a })
}

func backendOver(t testing.TB, over func(memory.Allocator) memory.Allocator) *kernels.Backend {
	t.Helper()
	var counted *memory.Counted
	releases := memory.OverReleases()
	b := backends.Open(t, func(a memory.Allocator) memory.Allocator {
		counted = memory.NewTraced(over(a))
		return counted
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - releases; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return b
}

// rec is one row of a test table: k is a key of few values, v a number, s a
// text; nil is null.
type rec struct {
	id int64
	k  *int64
	v  *float64
	s  *string
}

func (r rec) String() string {
	return fmt.Sprintf("%d|%s|%s|%s", r.id, show(r.k), show(r.v), show(r.s))
}

// show is a value or null, as shown reads it from a table.
func show[T any](p *T) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

func randomRecs(n int, keys int64, seed uint64) []rec {
	r := rand.New(rand.NewPCG(seed, 99))
	out := make([]rec, n)
	for i := range out {
		out[i].id = int64(i)
		if k := r.Int64N(keys); r.IntN(8) > 0 {
			out[i].k = &k
		}
		if v := float64(r.Int64N(1000)-500) / 4; r.IntN(8) > 0 {
			out[i].v = &v
		}
		if s := string(rune('a'+r.IntN(6))) + strings.Repeat("x", r.IntN(3)); r.IntN(8) > 0 {
			out[i].s = &s
		}
	}
	return out
}

// tableOf makes a table of recs in chunks of random lengths.
func tableOf(t testing.TB, b *kernels.Backend, recs []rec, chunks int, seed uint64) *Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	var all []*Batch
	var schema *arrow.Schema
	for c := range chunks {
		n := len(recs)
		if c < chunks-1 {
			n = r.IntN(len(recs) + 1)
		}
		one := oneChunk(t, b, recs[:n])
		schema = one.Schema()
		for _, chunk := range one.Chunks() {
			all = append(all, chunk.Retain())
		}
		one.Release()
		recs = recs[n:]
	}
	table, err := NewTable(b, schema, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(table.Release)
	return table
}

func oneChunk(t testing.TB, b *kernels.Backend, recs []rec) *Table {
	t.Helper()
	n := len(recs)
	ids, k, v, s := make([]int64, n), make([]int64, n), make([]float64, n), make([]string, n)
	kv, vv, sv := make([]bool, n), make([]bool, n), make([]bool, n)
	for i, r := range recs {
		ids[i] = r.id
		if kv[i] = r.k != nil; kv[i] {
			k[i] = *r.k
		}
		if vv[i] = r.v != nil; vv[i] {
			v[i] = *r.v
		}
		if sv[i] = r.s != nil; sv[i] {
			s[i] = *r.s
		}
	}
	table, err := New(b, Column("id", ids), Column("k", k).Valid(kv), Column("v", v).Valid(vv), Column("s", s).Valid(sv))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// shown is a table's rows as text, a string a row.
func shown(t *Table) []string {
	t, err := t.onHost(context.Background())
	if err != nil {
		return []string{err.Error()}
	}
	defer t.Release()
	var out []string
	for i := range t.NumRows() {
		var cells []string
		for c := range t.NumColumns() {
			v := t.at(i, c)
			switch {
			case !v.Valid():
				cells = append(cells, "null")
			case kernels.BinaryTypes.Has(v.Type().ID()):
				cells = append(cells, v.Text())
			case kernels.FloatTypes.Has(v.Type().ID()):
				cells = append(cells, fmt.Sprint(v.Float64()))
			default:
				cells = append(cells, v.String())
			}
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out
}

// collect runs a query and gives its rows as text.
func collect(t testing.TB, q *Query) []string {
	t.Helper()
	table, err := q.Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	return shown(table)
}

// equalRows compares rows in order.
func equalRows(t testing.TB, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("%s: row %d of %d is %s, want %s (of %d)", what, i, len(got), g, w, len(want))
		}
	}
}

// memorySource is a Source over a table, which records what it was asked for.
type memorySource struct {
	table *Table
	asked *[]ScanOptions
	fail  error // given by Next after the first batch
}

func (m memorySource) Schema(context.Context) (*arrow.Schema, error) { return m.table.Schema(), nil }
func (m memorySource) Name() string                                  { return "memory.test" }

func (m memorySource) Scan(_ context.Context, _ *kernels.Backend, o ScanOptions) (BatchReader, error) {
	*m.asked = append(*m.asked, o)
	schema := m.table.Schema()
	if o.Columns != nil {
		schema = subset(schema, o.Columns)
	}
	return &memoryReader{source: m, schema: schema}, nil
}

type memoryReader struct {
	source memorySource
	schema *arrow.Schema
	at     int
	closed bool
}

func (r *memoryReader) Next(ctx context.Context) (*Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.at > 0 && r.source.fail != nil {
		return nil, r.source.fail
	}
	if r.at == len(r.source.table.chunks) {
		return nil, io.EOF
	}
	r.at++
	return project(r.source.table.chunks[r.at-1], r.schema)
}

func (r *memoryReader) Close() error {
	r.closed = true
	return nil
}
