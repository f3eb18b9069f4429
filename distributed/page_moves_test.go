package distributed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

const (
	movesRanks = 4
	movesRows  = 1 << 12 // of a rank
	movesK     = 5       // of TopK
)

// moved are the tables of the calls that are counted: many keys, few keys, few rows, and the first one on every rank.
type moved struct{ many, few, small, all *Table }

// row is a row of the page's table.
type pageRow struct{ meetings, exchanges, bytes string }

// movesPage is the table "What moves" of docs/distributed.md, by operator.
func movesPage(t *testing.T) map[string]pageRow {
	text, err := os.ReadFile("../docs/distributed.md")
	require.NoError(t, err)
	_, text2, found := strings.Cut(string(text), "## What moves\n")
	require.True(t, found)
	section, _, _ := strings.Cut(text2, "\n## ")
	all := map[string]pageRow{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 || cells[0] == "operator" || cells[0] == "---" {
			continue
		}
		all[cells[0]] = pageRow{cells[1], cells[2], cells[3]}
	}
	return all
}

// moves are calls of each row of the page. What they give is nil where they give no Table.
var moves = map[string][]func(r *rank, m moved) (*Table, error){
	"New, Filter, Select, WithColumns, Rename, Drop, Head, Tail, Slice, WithRowNumber, Union": {
		func(r *rank, m moved) (*Table, error) { return New(r, r.comm, m.many.Local()) },
		func(r *rank, m moved) (*Table, error) { return m.many.Filter(r, "k > 5") },
		func(r *rank, m moved) (*Table, error) { return m.many.Select(r, "k") },
		func(r *rank, m moved) (*Table, error) { return m.many.WithColumn(r, "w", "k") },
		func(r *rank, m moved) (*Table, error) { return m.many.Rename(r, "k", "q") },
		func(r *rank, m moved) (*Table, error) { return m.many.Drop(r, "k") },
		func(r *rank, m moved) (*Table, error) { return m.many.Head(r, 5) },
		func(r *rank, m moved) (*Table, error) { return m.many.Tail(r, 5) },
		func(r *rank, m moved) (*Table, error) { return m.many.Slice(r, 5, 5) },
		func(r *rank, m moved) (*Table, error) { return m.many.WithRowNumber(r, "n", 0) },
		func(r *rank, m moved) (*Table, error) { return m.many.Union(r, m.few) },
	},
	"Write": {func(r *rank, m moved) (*Table, error) { return nil, m.many.Write(r, filepath.Join(r.folder, "table")) }},
	"Scan": {func(r *rank, _ moved) (*Table, error) {
		return Scan(r, r.comm, r.backend, storage.Parquet(r.folder+"/table/*.parquet"))
	}},
	"Equal, EqualRows": {
		func(r *rank, m moved) (*Table, error) { _, err := m.many.Equal(r, m.few); return nil, err },
		func(r *rank, m moved) (*Table, error) { _, err := m.many.EqualRows(r, m.few); return nil, err },
	},
	"Rebalance, Repartition, Even, nothing to move": {
		func(r *rank, m moved) (*Table, error) { return m.many.Rebalance(r) },
		func(r *rank, m moved) (*Table, error) { return m.many.Repartition(r, m.many.Counts()) },
		func(r *rank, m moved) (*Table, error) { return m.many.Even(r) },
	},
	"Rebalance, Repartition": {func(r *rank, m moved) (*Table, error) { // the last rank's rows go one rank on, all others stay
		return m.many.Repartition(r, []int64{movesRows, movesRows, 2 * movesRows, 0})
	}},
	"Even":   {func(r *rank, m moved) (*Table, error) { return m.small.Even(r) }},
	"Gather": {func(r *rank, m moved) (*Table, error) { t, err := m.many.Gather(r, 0); t.Release(); return nil, err }},
	"Exchange": {func(r *rank, m moved) (*Table, error) {
		parts, err := m.many.Local().PartitionRoundRobin(r, movesRanks)
		if err != nil {
			return nil, err
		}
		defer release(parts)
		t, err := Exchange(r, r.comm, parts)
		t.Release()
		return nil, err
	}},
	"Scatter":             {func(r *rank, m moved) (*Table, error) { return Scatter(r, r.comm, r.backend, m.onRoot(r), 0) }},
	"Broadcast":           {func(r *rank, m moved) (*Table, error) { return Broadcast(r, r.comm, r.backend, m.onRoot(r), 0) }},
	"Replicate":           {func(r *rank, m moved) (*Table, error) { return m.many.Replicate(r) }},
	"Shuffle by hash":     {func(r *rank, m moved) (*Table, error) { return m.many.Shuffle(r, Hash("k")) }},
	"Shuffle round robin": {func(r *rank, m moved) (*Table, error) { return m.many.Shuffle(r, RoundRobin()) }},
	"Shuffle by range":    {func(r *rank, m moved) (*Table, error) { return m.many.Shuffle(r, Range(table.Asc("k"))) }},
	"Sort":                {func(r *rank, m moved) (*Table, error) { return m.many.Sort(r, table.Asc("k")) }},
	"TopK":                {func(r *rank, m moved) (*Table, error) { return m.many.TopK(r, movesK, table.Asc("k")) }},
	"Distinct":            {func(r *rank, m moved) (*Table, error) { return m.many.Distinct(r, "k") }},
	"Intersect, Except": {
		func(r *rank, m moved) (*Table, error) { return m.many.Intersect(r, m.small) },
		func(r *rank, m moved) (*Table, error) { return m.many.Except(r, m.small) },
	},
	"GroupBy, few groups":            {func(r *rank, m moved) (*Table, error) { return m.few.GroupBy("k").Agg(r, table.Sum("v")) }},
	"GroupBy, AnyOrder":              {func(r *rank, m moved) (*Table, error) { return m.many.GroupBy("k").AnyOrder().Agg(r, table.Sum("v")) }},
	"GroupBy, many groups, in order": {func(r *rank, m moved) (*Table, error) { return m.many.GroupBy("k").Agg(r, table.Sum("v")) }},
	"Agg (all rows)":                 {func(r *rank, m moved) (*Table, error) { return m.many.Agg(r, table.Sum("v")) }},
	"Agg, no parts (CountDistinct)":  {func(r *rank, m moved) (*Table, error) { return m.many.Agg(r, table.CountDistinct("v")) }},
	"Describe, of two columns":       {func(r *rank, m moved) (*Table, error) { return m.many.Describe(r) }},
	"Join, one side to all ranks":    {func(r *rank, m moved) (*Table, error) { return m.many.Join(r, m.small, table.Inner, table.On("k")) }},
	"Join, both sides by hash":       {func(r *rank, m moved) (*Table, error) { return m.many.Join(r, m.many, table.Semi, table.On("k")) }},
}

// onRoot is the table that only rank 0 has.
func (m moved) onRoot(r *rank) *table.Table {
	if r.id() > 0 {
		return nil
	}
	return m.all.Local()
}

// movesFormulas are what the page says of bytes, where tables have two columns of 8 bytes, and nearly all of the many keys are distinct.
func movesFormulas() map[string][2]float64 {
	const p, n = movesRanks, movesRows * movesRanks * 16.0
	about := func(x float64) [2]float64 { return [2]float64{0.9 * x, 1.1 * x} }
	part := n / p
	return map[string][2]float64{
		"0": {}, "32 a rank": {}, "the rows that must": {0, 1.1 * part}, "k rows for each rank but one": {}, "a row from each rank to each": {}, "G(p−1)": {},
		"S(p−1)": {}, "N(p−1)/p": about(n * (p - 1) / p), "N(p−1)": about(n * (p - 1)), "(S+L)(p−1)/p": about(2 * n * (p - 1) / p),
		"G(p−1)/p": about(n * (p - 1) / p), "the values, to rank 0": about(n / 2 * (p - 1) / p), "the parts for other ranks": about(n * (p - 1) / p),
		"N(p−1)(p+1)/p": about(n * (p - 1) * (p + 1) / p),
		"K(p−1)/p, and 8 for each row of the result": about(1.5 * n * (p - 1) / p),
		"as Distinct on each column":                 {1.8 * n * (p - 1) / p, 3.3 * n * (p - 1) / p},           // v is the same on all ranks
		"that, and the other table's keys":           {0.9 * 1.5 * n * (p - 1) / p, 1.1 * 2 * n * (p - 1) / p}, // both columns are keys; of Intersect next to nothing comes back
		"2G(p−1)/p, and 8 for each row that moves":   about(3 * n * (p - 1) / p),
	}
}

// TestMovesPage: docs/distributed.md says how often ranks meet, how often rows are exchanged, and how many bytes all ranks send.
func TestMovesPage(t *testing.T) {
	was, rounds, split, heavy := groupLimits, roundRows, splitRows, heavyLeast
	defer func() { groupLimits, roundRows, splitRows, heavyLeast = was, rounds, split, heavy }()
	groupLimits.few, roundRows, splitRows, heavyLeast = 1<<10, 1<<19, 1<<18, 1<<10
	page, formulas, folder := movesPage(t), movesFormulas(), t.TempDir()
	require.Len(t, page, len(moves))
	dev, err := cpu.New(host.New())
	require.NoError(t, err)
	defer dev.Close()
	// Write comes before Scan, which reads what it wrote.
	names := []string{"Write"}
	for name := range page {
		require.Contains(t, moves, name)
		if name != "Write" {
			names = append(names, name)
		}
	}
	var said sync.Mutex
	sent := map[string]float64{}
	errs := groupOn(t, movesRanks, func(int) *kernels.Backend { return dev }, func(r *rank) error {
		r.folder = folder
		m, err := r.moved()
		if err != nil {
			return err
		}
		defer m.release()
		for _, name := range names {
			for i, f := range moves[name] {
				meetings, exchanges, messages, bytes, err := r.counted(m, f)
				if err != nil {
					return fmt.Errorf("%s, %d: %w", name, i, err)
				}
				said.Lock()
				sent[fmt.Sprint(name, "; ", i)] += bytes
				said.Unlock()
				if want := atFour(page[name].meetings); meetings != want {
					return fmt.Errorf("%s, %d: %d meetings, the page says %d", name, i, meetings, want)
				}
				if want := atFour(page[name].exchanges); exchanges != want {
					return fmt.Errorf("%s, %d: %d exchanges, the page says %d", name, i, exchanges, want)
				}
				// Counts go in two all-to-alls, and rows in up to three columns, of one buffer each.
				if most := (movesRanks - 1) * (meetings + exchanges*(2+3)); messages > most {
					return fmt.Errorf("%s, %d: %d messages, by the page at most %d", name, i, messages, most)
				}
			}
		}
		return nil
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	const talk = 48 << 10 // of meetings and samples
	for name, bytes := range sent {
		row := page[name[:strings.Index(name, "; ")]]
		bounds, known := formulas[row.bytes]
		require.True(t, known, row.bytes)
		require.GreaterOrEqual(t, bytes, bounds[0], "%s: %s", name, row.bytes)
		require.LessOrEqual(t, bytes, bounds[1]+talk, "%s: %s", name, row.bytes)
	}
}

// atFour is a number of the page on four ranks: a number, or one that has log₂ p; -1 where it is neither.
func atFour(text string) int {
	n := 0
	for _, part := range strings.Split(text, " + ") {
		factor, more := strings.CutSuffix(part, "log₂ p")
		k, err := strconv.Atoi(strings.TrimSpace(factor))
		switch {
		case more && strings.TrimSpace(factor) == "":
			k = 1
		case err != nil:
			return -1
		}
		if more {
			k *= int(math.Log2(movesRanks))
		}
		n += k
	}
	return n
}

// counted are the meetings, exchanges, messages and bytes sent of a call on this rank.
func (r *rank) counted(m moved, f func(r *rank, m moved) (*Table, error)) (meetings, exchanges, messages int, bytes float64, err error) {
	calls := func() (all [3]int, sent float64) {
		s := r.comm.Stats()
		for _, o := range s.Operations {
			switch o.Op {
			case "AllGather", "AllReduce":
				all[0] += int(o.Calls)
			case "SendRecv":
				all[1] += int(o.Calls)
			}
		}
		all[2] = int(s.Sent.Messages)
		return all, float64(s.Sent.Bytes)
	}
	before, sent := calls()
	d, err := f(r, m)
	d.Release()
	after, now := calls()
	return after[0] - before[0], after[1] - before[1], after[2] - before[2], now - sent, err
}

func (r *rank) moved() (m moved, err error) {
	g := rand.New(rand.NewPCG(uint64(r.id()+1), 7))
	for i, to := range []**Table{&m.many, &m.few, &m.small} {
		rows, keys := []int{movesRows, movesRows, 2 * (r.id() + 1)}[i], []int{1 << 20, 16, 1 << 20}[i]
		k, v := make([]int64, rows), make([]int64, rows)
		for j := range k {
			k[j], v[j] = int64(g.IntN(keys)), int64(j)
		}
		part := ints(r.backend, "k", k, "v", v)
		*to, err = New(r, r.comm, part)
		part.Release()
		if err != nil {
			m.release()
			return m, err
		}
	}
	m.all, err = m.many.Replicate(r)
	return m, err
}

func (m moved) release() {
	m.all.Release()
	m.many.Release()
	m.few.Release()
	m.small.Release()
}
