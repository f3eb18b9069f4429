package distributed

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// roundRows is about how many rows of a rank go in one round of a straight shuffle. Tests have fewer.
var roundRows = int64(1 << 18)

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
	b     *table.Batch
	at    int64 // the first of them in the chunk
	first int64 // and in the round
	n     int64
}

// shuffled moves the rows of a table, whose hashes it releases, as the way says. It is nil where there was an error.
func (o *op) shuffled(h *hashed, schema *arrow.Schema, w way) *table.Table {
	if len(w.heavy) == 0 { // alike on all ranks
		if got, is := o.straight(h, schema, w.buckets); is {
			return got
		}
	}
	all := o.split(h, w)
	h.release()
	o.dest = nil
	got := o.deal(schema, all)
	all.release()
	return got
}

// straight is the straight shuffle of a table, if it may be one.
func (o *op) straight(h *hashed, schema *arrow.Schema, buckets []int32) (_ *table.Table, is bool) {
	s := &straight{op: o, schema: schema}
	own := []int64{0, 0}
	if o.going() && s.fits(h) {
		s.cut(h.t)
		own = []int64{1, int64(len(s.rounds))}
	}
	said := o.words(own)
	for _, row := range said {
		if row[0] == 0 {
			return nil, false
		}
		s.most = max(s.most, int(row[1]))
	}
	defer s.release()
	if s.agree(h, buckets) {
		s.end(s.move())
	}
	return o.table(s.result), true
}

// fits reports whether all columns of this rank are direct.
func (s *straight) fits(h *hashed) bool {
	if s.backend.Device.Place() != memory.Host {
		return false
	}
	for _, f := range s.schema.Fields() {
		if !directType(f.Type) {
			return false
		}
		s.widths = append(s.widths, int64(memory.Width(f.Type)))
	}
	for k, b := range h.t.Chunks() {
		if h.nulls[k] != nil {
			return false
		}
		for _, c := range b.Columns() {
			if !direct(c) {
				return false
			}
		}
	}
	return true
}

// cut makes rounds of a table.
func (s *straight) cut(t *table.Table) {
	most := roundRows * int64(max(1, s.comm.Size()/8)) // so that messages do not get short
	var r round
	for _, b := range t.Chunks() {
		for at := int64(0); at < b.Len(); {
			n := min(b.Len()-at, most-(r.end-r.from))
			r.pieces = append(r.pieces, piece{b, at, r.end - r.from, n})
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
	self, size := s.comm.Rank(), s.comm.Size()
	flat, theirs := make([]int64, size*s.most), make([]int64, size*s.most)
	s.do(func() error {
		if err := s.route(h, buckets); err != nil {
			return err
		}
		for i, counts := range s.send {
			for d, n := range counts {
				flat[d*s.most+i] = n
			}
		}
		return nil
	})
	if h != nil {
		h.unhash()
	}
	if s.meet() != nil {
		return false
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
	s.do(func() error { return s.room(self, total) })
	return s.meet() == nil
}

// route finds the destination of every row, and counts them.
func (s *straight) route(h *hashed, buckets []int32) error {
	n, at := uint64(len(buckets)), int64(0)
	s.dest = make([]int32, h.t.NumRows())
	for _, c := range h.hashes {
		hashes := memory.Values[uint64](c)
		r := routeOver(s.op, s.dest[at:at+c.Len()], 0)
		if err := r.each(func(_, from, end int) {
			dest := r.dest[from:end]
			for i, hash := range hashes[from:end] {
				dest[i] = buckets[bucketOf(hash, n)]
			}
		}); err != nil {
			return err
		}
		at += c.Len()
	}
	for _, r := range s.rounds {
		counts := make([]int64, s.comm.Size())
		for _, d := range s.dest[r.from:r.end] {
			counts[d]++
		}
		s.send = append(s.send, counts)
	}
	return nil
}

// room takes the memory of the result, and that of two rounds on their way to other ranks.
func (s *straight) room(self int, total int64) error {
	away := int64(0)
	for _, counts := range s.send {
		away = max(away, sum(counts)-counts[self])
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
