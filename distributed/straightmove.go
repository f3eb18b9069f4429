package distributed

import (
	"context"

	"github.com/volley-go/volley/collective"
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
	if _, err := r.count(); err != nil {
		return nil, err
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
