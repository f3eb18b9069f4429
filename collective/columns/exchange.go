package columns

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Transfer is one side of a list of columns on its way between two ranks.
type Transfer struct {
	Peer    int
	Types   []arrow.DataType
	Columns []*memory.Column // of those types; nil for Recv
	Recv    bool             // else Send
}

// Send gives columns to another rank, which calls Recv with the same types. As
// collective.Comm.Send it may wait for that: ranks that send to each other call Exchange.
func (t *Comm) Send(ctx context.Context, types []arrow.DataType, cols []*memory.Column, to int) error {
	_, err := do(ctx, t, t.exchange([]Transfer{{Peer: to, Types: types, Columns: cols}}))
	return err
}

// Recv takes columns from another rank, which calls Send with the same types. They are in
// the device's memory, and the caller's.
func (t *Comm) Recv(ctx context.Context, types []arrow.DataType, from int) ([]*memory.Column, error) {
	return do(ctx, t, first(t.exchange([]Transfer{{Peer: from, Types: types, Recv: true}})))
}

// Exchange does all sends and receives of a group at once, so that ranks that need each other
// cannot wait in a circle. It gives a list for every Transfer of the group, nil for those that
// send. Only the ranks that send and receive call it; transfers between two of them are
// matched in the order of the calls, and within one in the group's order. A rank may not be
// its own peer. Where a transfer's types differ between its ranks, all ranks of the Comm get a
// collective.Fault, a Mismatch.
func (t *Comm) Exchange(ctx context.Context, group []Transfer) ([][]*memory.Column, error) {
	return do(ctx, t, t.exchange(group))
}

// SendAsync starts a Send, whose Handle gives no columns.
func (t *Comm) SendAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, to int) *Handle[[]*memory.Column] {
	return start(ctx, t, first(t.exchange([]Transfer{{Peer: to, Types: types, Columns: cols}})))
}

// RecvAsync starts a Recv.
func (t *Comm) RecvAsync(ctx context.Context, types []arrow.DataType, from int) *Handle[[]*memory.Column] {
	return start(ctx, t, first(t.exchange([]Transfer{{Peer: from, Types: types, Recv: true}})))
}

// ExchangeAsync starts an Exchange. What is started is done in order, so two ranks that send
// to each other start one Exchange each, not a SendAsync before a RecvAsync.
func (t *Comm) ExchangeAsync(ctx context.Context, group []Transfer) *Handle[[][]*memory.Column] {
	return start(ctx, t, t.exchange(group))
}

// Barrier returns when all ranks have called it, after the calls that this rank has under way.
func (t *Comm) Barrier(ctx context.Context) error {
	_, err := do(ctx, t, t.barrier())
	return err
}

// BarrierAsync starts a Barrier, whose Handle gives no columns.
func (t *Comm) BarrierAsync(ctx context.Context) *Handle[[]*memory.Column] {
	return start(ctx, t, t.barrier())
}

func (t *Comm) barrier() job[[]*memory.Column] {
	return job[[]*memory.Column]{call: "Barrier", run: func(ctx context.Context) ([]*memory.Column, error) { return nil, t.c.Barrier(ctx) }}
}

// first is a job of one list, of one that gives a list of them.
func first(j job[[][]*memory.Column]) job[[]*memory.Column] {
	return job[[]*memory.Column]{call: j.call, err: j.err, held: j.held, run: func(ctx context.Context) ([]*memory.Column, error) {
		got, err := j.run(ctx)
		if err != nil {
			return nil, err
		}
		return got[0], nil
	}}
}

// exchange makes the job of a group.
func (t *Comm) exchange(group []Transfer) job[[][]*memory.Column] {
	const call = "SendRecv"
	group = slices.Clone(group)
	j := job[[][]*memory.Column]{call: call}
	for i := range group {
		x := &group[i]
		x.Types, x.Columns = slices.Clone(x.Types), slices.Clone(x.Columns)
		switch {
		case j.err != nil:
		case x.Peer < 0 || x.Peer >= t.c.Size() || x.Peer == t.c.Rank():
			j.err = device.Errorf(device.ErrMismatch, "", call, "transfer %d: rank %d has no peer %d among %d ranks", i, t.c.Rank(), x.Peer, t.c.Size())
		case x.Recv && x.Columns != nil:
			j.err = device.Errorf(device.ErrMismatch, "", call, "transfer %d receives, and has columns to send", i)
		case !x.Recv && len(x.Columns) != len(x.Types):
			j.err = device.Errorf(device.ErrMismatch, "", call, "transfer %d: %d columns for %d types", i, len(x.Columns), len(x.Types))
		default:
			j.err = t.check(call, x.Types, x.Columns, 0)
		}
		j.held = append(j.held, x.Columns...)
	}
	j.run = func(ctx context.Context) ([][]*memory.Column, error) { return t.swap(ctx, group) }
	return j
}

// swap runs an Exchange: a round of descriptions, then every buffer.
func (t *Comm) swap(ctx context.Context, group []Transfer) (_ [][]*memory.Column, err error) {
	parcels := make([]*parcel, len(group))
	defer func() {
		for _, p := range parcels {
			p.release()
		}
	}()
	about, descriptions := make([]collective.Transfer, len(group)), make([][]int64, len(group))
	for i, x := range group {
		said := make([]int64, metaLen(x.Types)+1)
		descriptions[i] = said
		if !x.Recv {
			cols := x.Columns
			if cols == nil {
				cols = []*memory.Column{} // a list of none is a list
			}
			if parcels[i], err = t.pack(ctx, x.Types, cols); err != nil {
				return nil, t.fail(err)
			}
			said[0] = named(x.Types)
			copy(said[1:], parcels[i].meta)
		}
		about[i] = collective.Transfer{Peer: x.Peer, Data: collective.Of(said), Recv: x.Recv}
	}
	if err := t.c.Exchange(ctx, about); err != nil {
		return nil, err
	}
	var transfers []collective.Transfer
	for i, x := range group {
		if x.Recv {
			said := descriptions[i]
			if said[0] != named(x.Types) {
				return nil, t.c.Report(collective.Fault{Cause: collective.Mismatch, Op: "SendRecv", Ranks: []int{t.c.Rank(), x.Peer},
					Text: fmt.Sprintf("rank %d sends columns of other types than rank %d receives: %v", x.Peer, t.c.Rank(), x.Types)})
			}
			if parcels[i], err = t.room(x.Types, said[1:]); err != nil {
				return nil, t.fail(err)
			}
		}
		for _, b := range parcels[i].bytes {
			transfers = append(transfers, collective.Transfer{Peer: x.Peer, Data: collective.Of(b), Recv: x.Recv})
		}
	}
	if err := t.c.Exchange(ctx, transfers); err != nil {
		return nil, err
	}
	all := make([][]*memory.Column, len(group))
	for i, x := range group {
		if !x.Recv {
			continue
		}
		if all[i], err = t.unpack(ctx, x.Types, parcels[i]); err != nil {
			for _, cols := range all {
				Release(cols)
			}
			return nil, err
		}
	}
	return all, nil
}

// named is a word for types, the same for the same ones.
func named(types []arrow.DataType) int64 {
	h := fnv.New64a()
	for _, typ := range types {
		h.Write([]byte(typ.String()))
		h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
