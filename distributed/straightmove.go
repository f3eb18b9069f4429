package distributed

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/table"
)

// move moves the rows, round by round. Its error is that of all ranks; one of this rank, which is the end of its context, is kept.
func (s *straight) move() error {
	var sent *collective.Handle
	wait := func() error {
		if sent == nil {
			return nil
		}
		return sent.Wait(context.Background()) // it obeys the operation's context itself, and has the buffers until then
	}
	for i := range s.most {
		transfers, own := s.part(i)
		if err := wait(); err != nil {
			return err
		}
		sent = s.comm.ExchangeAsync(s.ctx, s.receive(i, transfers)) // where the context has ended it tells the other ranks so
		if own != nil {
			s.fail(own)
			break
		}
	}
	return wait()
}

// part parts the rows of a round: this rank's own go to their place, and those of the others to where they are sent from.
func (s *straight) part(i int) ([]collective.Transfer, error) {
	if i >= len(s.rounds) {
		return nil, nil
	}
	self, size := s.comm.Rank(), s.comm.Size()
	rows := s.rounds[i]
	r := routeOver(s.op, s.dest[rows.from:rows.end], size)
	if len(r.next) > 1 { // else all places begin at 0
		if _, err := r.count(); err != nil {
			return nil, err
		}
	}
	starts, away := make([]int64, size), int64(0)
	for d, n := range s.send[i] {
		if starts[d] = away; d != self {
			away += n
		}
	}
	starts[self] = s.at[self]
	s.at[self] += s.send[i][self]
	var transfers []collective.Transfer
	for c, w := range s.widths {
		to := make([]target, size)
		for d, n := range s.send[i] {
			to[d] = target{s.stage[i%2][c], starts[d], n}
			if d == self {
				to[d].b = s.made[c]
			}
		}
		var from []stretch
		for _, p := range rows.pieces {
			from = append(from, stretch{p.b.Column(c), p.at, p.first, p.n})
		}
		if err := r.spread(w, from, to); err != nil {
			return nil, err
		}
		for k := 1; k < size; k++ { // from the next rank on, so that not all send to one at once
			if t := to[(self+k)%size]; t.n > 0 {
				transfers = append(transfers, collective.Transfer{Peer: (self + k) % size, Data: collective.Of(t.b.Bytes()[t.at*w : (t.at+t.n)*w])})
			}
		}
	}
	return transfers, nil
}

// receive adds what comes in a round.
func (s *straight) receive(i int, transfers []collective.Transfer) []collective.Transfer {
	self, size := s.comm.Rank(), s.comm.Size()
	for c, w := range s.widths {
		for k := 1; k < size; k++ {
			from := (self + size - k) % size
			if n := s.come[from][i]; n > 0 {
				transfers = append(transfers, collective.Transfer{Peer: from, Data: collective.Of(s.made[c].Bytes()[s.at[from]*w : (s.at[from]+n)*w]), Recv: true})
			}
		}
	}
	for src := range size {
		if src != self {
			s.at[src] += s.come[src][i]
		}
	}
	return transfers
}

// pieceRows is how many rows go in one message at most, of up to 16 bytes each.
const pieceRows = 1 << 25

// whole is deal, whose result is one chunk where all ranks' columns are direct: it does not keep the lists alive then. It releases them.
func (o *op) whole(schema *arrow.Schema, lists pieces) *table.Table {
	defer lists.release()
	s := &straight{op: o, schema: schema}
	fits, rounds := o.going(), 0
	for _, list := range lists {
		fits, rounds = fits && s.direct(list), max(rounds, len(list))
		for _, b := range list {
			fits = fits && b.Len() <= pieceRows
		}
	}
	if !s.all(fits, rounds) {
		return o.deal(schema, lists)
	}
	defer s.release()
	s.send = make([][]int64, rounds)
	for i := range s.send {
		s.send[i] = make([]int64, len(lists))
		for d, list := range lists {
			if i < len(list) {
				s.send[i][d] = list[i].Len()
			}
		}
	}
	if s.tell() {
		s.end(s.pass(lists))
	}
	return o.table(s.result)
}

// pass sends each list to its rank.
func (s *straight) pass(lists pieces) error {
	self, size := s.comm.Rank(), s.comm.Size()
	for i := range s.most {
		var transfers []collective.Transfer
		for c, w := range s.widths {
			for k := range size { // from this rank on
				d := (self + k) % size
				if i >= len(lists[d]) {
					continue
				}
				col := lists[d][i].Column(c)
				bytes := col.Buffer(1).Bytes()[col.Offset()*w : (col.Offset()+col.Len())*w]
				if d == self {
					copy(s.made[c].Bytes()[s.at[self]*w:], bytes)
					continue
				}
				transfers = append(transfers, collective.Transfer{Peer: d, Data: collective.Of(bytes)})
			}
		}
		if i < len(s.send) {
			s.at[self] += s.send[i][self]
		}
		if err := s.comm.Exchange(s.ctx, s.receive(i, transfers)); err != nil {
			return err
		}
	}
	return nil
}
