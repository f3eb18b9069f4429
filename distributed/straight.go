package distributed

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// roundRows is about how many rows of a rank go in one round of a straight shuffle. Tests have fewer.
var roundRows = int64(1 << 19)

// straight is a shuffle of rows whose columns are direct on all ranks. How many rows go from where to where is agreed first, and each rank makes room for
// what it is to have, in one chunk. Then rows go in rounds: while those of one are on their way, each value straight to its place, those of the next are parted.
// So there is no second copy of the table, but for two rounds of it.
type straight struct {
	*op
	schema *arrow.Schema
	widths []int64
	rounds []round
	most   int              // rounds of the rank that has most
	dest   []int32          // of this rank's rows
	send   [][]int64        // rows by round and destination
	come   [][]int64        // rows by source and round
	at     []int64          // by source: the row of the result where its next ones go
	made   []*memory.Buffer // of the result's columns
	stage  [2][]*memory.Buffer
}

// round is some rows of this rank, which are in chunks.
type round struct {
	from, end int64
	pieces    []piece
}

// piece is rows of a chunk.
type piece struct {
	k     int // the number of the chunk
	b     *table.Batch
	at    int64 // the first of them in the chunk
	first int64 // and in the round
	n     int64
}

// shuffled moves the rows of a table, whose hashes it releases, as the way says. It is nil where there was an error.
func (o *op) shuffled(h *hashed, schema *arrow.Schema, w way) *table.Table {
	s := &straight{op: o, schema: schema}
	if o.going() {
		s.cut(h.t)
	}
	if !s.all(o.going() && len(w.heavy) == 0 && s.fits(h), len(s.rounds)) {
		return s.dealt(h, w)
	}
	defer s.release()
	if s.agree(h, w.buckets) {
		s.end(s.move())
	}
	return o.table(s.result)
}

// all reports whether all ranks' columns are direct. It finds the rounds of the one that has most.
func (s *straight) all(fits bool, rounds int) bool {
	own := []int64{0, int64(rounds)}
	if fits {
		own[0] = 1
	}
	straight := true
	for _, row := range s.words(own) {
		straight = straight && row[0] == 1
		s.most = max(s.most, int(row[1]))
	}
	return straight
}

// fits reports whether all columns of this rank are direct.
func (s *straight) fits(h *hashed) bool {
	return s.direct(h.t.Chunks()) && !slices.ContainsFunc(h.nulls, func(marks []bool) bool { return marks != nil })
}

// direct reports whether all columns of chunks are direct, and those of other ranks may be.
func (s *straight) direct(chunks []*table.Batch) bool {
	if s.backend.Device.Place() != memory.Host {
		return false
	}
	s.widths = nil
	for _, f := range s.schema.Fields() {
		if !directType(f.Type) {
			return false
		}
		s.widths = append(s.widths, int64(memory.Width(f.Type)))
	}
	for _, b := range chunks {
		if slices.ContainsFunc(b.Columns(), func(c *memory.Column) bool { return !direct(c) }) {
			return false
		}
	}
	return len(s.widths) > 0
}

// cut makes rounds of a table.
func (s *straight) cut(t *table.Table) {
	most := roundRows * int64(max(1, s.comm.Size()/8)) // so that messages do not get short
	var r round
	for k, b := range t.Chunks() {
		for at := int64(0); at < b.Len(); {
			n := min(b.Len()-at, most-(r.end-r.from))
			r.pieces = append(r.pieces, piece{k, b, at, r.end - r.from, n})
			r.end, at = r.end+n, at+n
			if r.end-r.from == most {
				s.rounds, r = append(s.rounds, r), round{from: r.end, end: r.end}
			}
		}
	}
	if r.end > r.from {
		s.rounds = append(s.rounds, r)
	}
}

// agree finds where rows go, tells the other ranks how many, and makes room. The hashes are not wanted after it, and released.
func (s *straight) agree(h *hashed, buckets []int32) bool {
	s.do(func() error { return s.route(h, buckets) })
	if h != nil {
		h.unhash()
	}
	return s.tell()
}

// tell tells the other ranks how many rows they get in each round, and makes room for what comes.
func (s *straight) tell() bool {
	if s.meet() != nil {
		return false
	}
	size := s.comm.Size()
	flat, theirs := make([]int64, size*s.most), make([]int64, size*s.most)
	for i, counts := range s.send {
		for d, n := range counts {
			flat[d*s.most+i] = n
		}
	}
	if err := s.comm.AllToAll(s.ctx, collective.Of(flat), collective.Of(theirs)); err != nil {
		s.end(err)
		return false
	}
	total := int64(0)
	for src := range size {
		s.come, s.at = append(s.come, theirs[src*s.most:(src+1)*s.most]), append(s.at, total)
		total += sum(s.come[src])
	}
	s.do(func() error { return s.room(s.comm.Rank(), total) })
	return s.meet() == nil
}

// route finds the destination of every row, and counts them.
func (s *straight) route(h *hashed, buckets []int32) error {
	n := uint64(len(buckets))
	s.dest, s.send = make([]int32, h.t.NumRows()), make([][]int64, len(s.rounds))
	return s.side(len(s.rounds), func(i int) {
		counts := make([]int64, s.comm.Size())
		for _, p := range s.rounds[i].pieces {
			dest := s.dest[s.rounds[i].from+p.first:]
			for j, hash := range memory.Values[uint64](h.hashes[p.k])[p.at : p.at+p.n] {
				d := buckets[bucketOf(hash, n)]
				dest[j] = d
				counts[d]++
			}
		}
		s.send[i] = counts
	})
}

// side calls f with each of n numbers, on all processors side by side.
func (o *op) side(n int, f func(i int)) error {
	var next atomic.Int64
	var all sync.WaitGroup
	work := func() {
		for i := next.Add(1) - 1; i < int64(n) && o.ctx.Err() == nil; i = next.Add(1) - 1 {
			f(int(i))
		}
	}
	for range min(processors.Count(), n) - 1 {
		all.Go(work)
	}
	work()
	all.Wait()
	return device.Canceled(o.ctx, "", o.call.Op)
}

// room takes the memory of the result, and that of two rounds on their way to other ranks.
func (s *straight) room(self int, total int64) error {
	away := int64(0)
	for i := range s.rounds {
		away = max(away, sum(s.send[i])-s.send[i][self])
	}
	from := s.backend.Device.Memory()
	for _, w := range s.widths {
		for _, list := range []*[]*memory.Buffer{&s.made, &s.stage[0], &s.stage[1]} {
			n := away * w
			switch {
			case list == &s.made:
				n = total * w
			case list == &s.stage[1] && len(s.rounds) < 2:
				n = 0
			}
			b, err := memory.New(from, n)
			if err != nil {
				return err
			}
			*list = append(*list, b)
		}
	}
	return nil
}

func (s *straight) release() {
	for _, list := range [][]*memory.Buffer{s.made, s.stage[0], s.stage[1]} {
		for _, b := range list {
			b.Release()
		}
	}
	s.made = nil
}

// result is the table of what came.
func (s *straight) result() (*table.Table, error) {
	total := int64(0)
	for _, list := range s.come {
		total += sum(list)
	}
	if total == 0 {
		return table.NewTable(s.backend, s.schema, nil)
	}
	var columns []*memory.Column
	for i, f := range s.schema.Fields() {
		c, err := memory.NewColumn(memory.Parts{Type: f.Type, Len: total, Buffers: []*memory.Buffer{nil, s.made[i].Retain()}})
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	chunk, err := table.NewBatch(s.schema, total, columns)
	if err != nil {
		return nil, err
	}
	return table.NewTable(s.backend, s.schema, []*table.Batch{chunk})
}
