package distributed

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// struckSteps are all operators, once each of the ways that they have.
func struckSteps() []step {
	same := func(l, _ *table.Table) *table.Query { return l.Query() }
	all := append([]step(nil), steps...)
	for _, s := range steps { // those move rows, these the groups' parts
		if len(s.name) > 5 && s.name[:5] == "group" {
			do := s.ranks
			s.name += ", few"
			s.ranks = func(r *rank, d, o *Table) (*Table, error) {
				usual := groupLimits
				groupLimits.few, groupLimits.sample = 1<<14, 1<<16
				defer func() { groupLimits = usual }()
				return do(r, d, o)
			}
			all = append(all, s)
		}
	}
	return append(all,
		step{"join by broadcast", operations["join by broadcast"], func(l, m *table.Table) *table.Query { return l.Query().Join(m, table.Cross) }, false, false},
		step{"replicate", operations["replicate"], same, true, false},
		step{"aggregate", func(r *rank, d, _ *Table) (*Table, error) {
			return d.Agg(r, table.Sum("v"), table.CountDistinct("s"))
		}, func(l, _ *table.Table) *table.Query {
			return l.Query().GroupBy().Agg(table.Sum("v"), table.CountDistinct("s"))
		}, true, false},
		step{"describe", stepDescribe, same, true, false},
		step{"union", func(r *rank, d, _ *Table) (*Table, error) { return d.Union(r, d) },
			func(l, _ *table.Table) *table.Query { return l.Query().Union(l.Query()) }, false, false},
		step{"tail", func(r *rank, d, _ *Table) (*Table, error) { return d.Tail(r, 33) },
			func(l, _ *table.Table) *table.Query { return l.Query().Slice(max(0, l.NumRows()-33), 33) }, true, false},
		step{"row number", stepNumbers, same, true, false},
		step{"equal", stepEqual, same, true, false},
		step{"equal in order", stepEqualInOrder, same, true, false},
		step{"broadcast", stepBroadcast, same, true, false},
		step{"repartition", stepRepartition, same, true, false},
		step{"rebalance by bytes", func(r *rank, d, _ *Table) (*Table, error) { return d.Rebalance(r, ByBytes) }, same, true, false},
		step{"even", stepEven, same, true, false},
		step{"write", stepWrite, same, true, false},
		step{"scan", stepScan, same, true, false},
		step{"shuffle much", stepMuch, same, true, false},
	)
}

// stepNumbers numbers the rows, as v does.
func stepNumbers(r *rank, d, _ *Table) (*Table, error) {
	numbered, err := d.WithRowNumber(r, "n", 3)
	if err != nil {
		return nil, err
	}
	defer numbered.Release()
	right, err := numbered.Filter(r, "n = v + 3")
	if err != nil {
		return nil, err
	}
	defer right.Release()
	return right.Drop(r, "n")
}

// stepDescribe holds the statistics to the number of rows.
func stepDescribe(r *rank, d, _ *Table) (*Table, error) {
	made, err := d.Describe(r)
	if err != nil {
		return nil, err
	}
	defer made.Release()
	var count, nulls int64
	there := rows(made.Local())
	if _, err = fmt.Sscanf(there[0], `"count"|%d|`, &count); err == nil {
		_, err = fmt.Sscanf(there[1], `"nulls"|%d|`, &nulls)
	}
	if err == nil && count+nulls != d.NumRows() {
		err = fmt.Errorf("%d values and %d nulls of %d rows", count, nulls, d.NumRows())
	}
	return kept(d, err)
}

func stepEqual(r *rank, d, _ *Table) (*Table, error) {
	turned, err := d.Shuffle(r, RoundRobin())
	if err != nil {
		return nil, err
	}
	defer turned.Release()
	r.begin()
	yes, err := d.EqualRows(r, turned)
	if err == nil && !yes {
		err = fmt.Errorf("rows that were dealt out are others")
	}
	return kept(d, err)
}

// stepEqualInOrder compares rows with the same ones on other ranks.
func stepEqualInOrder(r *rank, d, _ *Table) (*Table, error) {
	last, err := stepRepartition(r, d, nil)
	if err != nil {
		return nil, err
	}
	defer last.Release()
	r.begin()
	yes, err := d.Equal(r, last)
	if err == nil && !yes {
		err = fmt.Errorf("the same rows on other ranks are others")
	}
	return kept(d, err)
}

func stepBroadcast(r *rank, d, _ *Table) (*Table, error) {
	root := r.comm.Size() - 1
	whole, err := d.Gather(r, root)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	r.begin()
	return Broadcast(r, r.comm, r.backend, whole, root)
}

// stepRepartition leaves one row on each rank, and the others on the last one.
func stepRepartition(r *rank, d, _ *Table) (*Table, error) {
	counts := make([]int64, r.comm.Size())
	for i := range counts {
		counts[i] = min(1, d.NumRows())
	}
	counts[len(counts)-1] = 0
	counts[len(counts)-1] = d.NumRows() - sum(counts)
	got, err := d.Repartition(r, counts)
	if err == nil && !slices.Equal(got.Counts(), counts) {
		got.Release()
		return nil, fmt.Errorf("%v rows in place of %v", got.Counts(), counts)
	}
	return got, err
}

// stepEven holds this rank's rows, which v numbers, against those that it is to have.
func stepEven(r *rank, d, _ *Table) (*Table, error) {
	even, err := d.Even(r)
	if err != nil {
		return nil, err
	}
	defer even.Release()
	each := d.NumRows() / int64(r.comm.Size())
	for i, row := range rows(even.Local()) {
		if _, rest, _ := strings.Cut(row, "|"); !strings.HasPrefix(rest, fmt.Sprintf("%d|", each*int64(r.id())+int64(i))) {
			return nil, fmt.Errorf("row %d is %s", i, row)
		}
	}
	if even.Local().NumRows() != each {
		return nil, fmt.Errorf("%d rows in place of %d", even.Local().NumRows(), each)
	}
	return d.Retain(), nil
}

// begin says that an operation begins behind its preparations.
func (r *rank) begin() {
	if r.begins != nil {
		r.begins()
	}
}

func kept(d *Table, err error) (*Table, error) {
	if err != nil {
		return nil, err
	}
	return d.Retain(), nil
}

func stepWrite(r *rank, d, _ *Table) (*Table, error) { return kept(d, d.Write(r, r.folder)) }

func stepScan(r *rank, d, _ *Table) (*Table, error) {
	if err := d.WriteParquet(r, r.folder, storage.ParquetOptions{RowGroupRows: 20}); err != nil {
		return nil, err
	}
	r.begin()
	return r.scanned()
}

func (r *rank) scanned() (*Table, error) {
	source, err := storage.Folder(r.folder)
	if err != nil {
		return nil, err
	}
	return Scan(r, r.comm, r.backend, source)
}

// whole holds that a folder which a Write has made, or was to make, is there wholly or not at all.
func (p *stricken) whole(c *collective.Comm, folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return nil
	}
	got, err := (&rank{Context: p, comm: c, backend: p.backend, folder: folder}).scanned()
	if err != nil {
		return err
	}
	defer got.Release()
	if got.NumRows() != 80 && got.NumRows() != 0 { // "no rows" has none
		return fmt.Errorf("%s has %d rows", folder, got.NumRows())
	}
	return nil
}

// stepMuch moves columns of several segments, and holds what came against what went by its sums.
func stepMuch(r *rank, d, _ *Table) (*Table, error) {
	usualSplit, usualRound := splitRows, roundRows
	splitRows, roundRows = 1<<15, 1<<16
	defer func() { splitRows, roundRows = usualSplit, usualRound }()
	const n = 150_000
	k, v := make([]int64, n), make([]int64, n)
	for i := range k {
		k[i], v[i] = int64(i*7919%10_007), int64(i*r.comm.Size()+r.id())
	}
	part := ints(r.backend, "k", k, "v", v)
	defer part.Release()
	much, err := New(r, r.comm, part)
	if err != nil {
		return nil, err
	}
	defer much.Release()
	r.begin()
	got, err := much.Shuffle(r, Hash("k"))
	if err != nil {
		return nil, err
	}
	defer got.Release()
	sum, err := got.Agg(r, table.Sum("v"), table.Count())
	if err != nil {
		return nil, err
	}
	defer sum.Release()
	all, err := r.all(sum)
	if err != nil {
		return nil, err
	}
	m := int64(n * r.comm.Size())
	if want := fmt.Sprintf("%d|%d", m*(m-1)/2, m); len(all) == 0 || all[0] != want {
		return nil, fmt.Errorf("sums %q in place of %s", all, want)
	}
	return d.Retain(), nil
}
