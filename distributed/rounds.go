package distributed

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective/columns"
	"github.com/volley-go/volley/table"
)

// dealt is the shuffle of a table whose columns are not all direct. It goes in rounds too, so that rows are parted while those before them are on their way, and
// no more than two rounds of parted rows are there at once. A dictionary would go with every round: tables that have one go in a single round.
func (s *straight) dealt(h *hashed, w way) *table.Table {
	if s.ended != nil {
		return nil
	}
	if s.most > 1 && slices.ContainsFunc(s.schema.Fields(), func(f arrow.Field) bool { return hasDictionary(f.Type) }) {
		s.most = 1
		var whole round
		for _, r := range s.rounds {
			for _, p := range r.pieces {
				p.first += r.from
				whole.pieces = append(whole.pieces, p)
			}
			whole.end = r.end
		}
		s.rounds = []round{whole}
	}
	mover := s.mover()
	if mover == nil {
		return nil
	}
	came, err := s.deals(mover, h, w)
	err = errors.Join(err, mover.Close())
	if err != nil {
		columns.ReleaseLists(came)
		s.end(err)
		return nil
	}
	return s.table(func() (*table.Table, error) { return gathered(s.backend, s.schema, came) })
}

// deals are what comes in all rounds, by source. Its error is that of all ranks.
func (s *straight) deals(mover *columns.Comm, h *hashed, w way) ([][]columns.List, error) {
	type arrival struct {
		lists [][]columns.List
		err   error
	}
	all := make([][]columns.List, s.comm.Size())
	var sent chan arrival
	wait := func() error {
		if sent == nil {
			return nil
		}
		got := <-sent
		for r, lists := range got.lists {
			all[r] = append(all[r], lists...)
		}
		return got.err
	}
	var types []arrow.DataType
	for _, f := range s.schema.Fields() {
		types = append(types, f.Type)
	}
	for i := range s.most {
		var parted pieces
		var own error
		if i < len(s.rounds) {
			parted, own = s.split(h, w, s.rounds[i])
		}
		if err := wait(); err != nil {
			parted.release()
			return all, err
		}
		lists := make([][]columns.List, s.comm.Size())
		for r, list := range parted {
			lists[r] = listsOf(list)
		}
		sent = make(chan arrival, 1)
		go func() {
			got, err := mover.Deal(s.ctx, s.call, types, lists, own)
			parted.release() // before it is said that they have gone: who waits may look at what is held
			sent <- arrival{got, err}
		}()
	}
	return all, wait()
}

// listsOf are batches as lists of columns, which stay the batches'.
func listsOf(list []*table.Batch) (all []columns.List) {
	for _, b := range list {
		l := columns.List{Rows: b.Len()}
		for i := range b.NumColumns() {
			l.Columns = append(l.Columns, b.Column(i))
		}
		all = append(all, l)
	}
	return all
}

// hasDictionary reports whether there is a dictionary in a type.
func hasDictionary(t arrow.DataType) bool {
	if t.ID() == arrow.DICTIONARY {
		return true
	}
	nested, is := t.(arrow.NestedType)
	return is && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return hasDictionary(f.Type) })
}
