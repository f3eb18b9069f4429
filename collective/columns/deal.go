package columns

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// List is rows of columns. It keeps its length, so that rows without columns are rows.
type List struct {
	Rows    int64
	Columns []*memory.Column
}

// Deal is an AllToAll of several lists for each rank: rank r gets the lists parts[r] of every
// rank, by rank and in their order. It is part of a call of package agree, whose ranks have
// agreed on the types already, so that a rank that cannot go on tells the others: own is an
// error that this rank comes with, which then sends nothing, and a rank without memory for
// what it is to get says so before a byte of it moves. Either is an [agree.Error], the same on all
// ranks, after which the Comm goes on.
//
// Buffers go straight from their places to their places, in messages of less than 1 GiB,
// those that are short together in one; a dictionary that several lists for one rank have
// goes there once. Lists of this rank for itself come as they are where they are in the
// device's memory. After UseGPUs NCCL carries what it can. The caller releases what it gets.
func (t *Comm) Deal(ctx context.Context, call *agree.Call, types []arrow.DataType, parts [][]List, own error) ([][]List, error) {
	turn, err := t.queue.Take(call.Op)
	if err != nil {
		return nil, err
	}
	defer turn.Done()
	if err := turn.Wait(ctx); err != nil {
		return nil, err
	}
	d := &dealing{t: t, call: call, types: types, parts: parts, staged: map[*memory.Column]*memory.Column{}}
	defer d.release()
	var got [][]List
	err = turn.Run(ctx, call.Op, func(ctx context.Context) (err error) {
		got, err = d.run(ctx, own)
		return err
	})
	return got, err
}

// dealing is a Deal under way.
type dealing struct {
	t      *Comm
	call   *agree.Call
	types  []arrow.DataType
	parts  [][]List
	sends  []*parcel
	recvs  []*parcel
	staged map[*memory.Column]*memory.Column
	texts  []span // of what is sent, whose offsets are on a GPU
}

func (d *dealing) release() {
	for _, p := range append(d.sends, d.recvs...) {
		p.release()
	}
	for _, c := range d.staged {
		c.Release()
	}
}

func (d *dealing) run(ctx context.Context, own error) ([][]List, error) {
	self, size := d.t.c.Rank(), d.t.c.Size()
	if own == nil {
		own = d.pack(ctx)
	}
	lengths, theirs := make([]int64, size), make([]int64, size)
	var flat []int64
	for r := range size {
		if own == nil && r != self {
			lengths[r] = int64(len(d.sends[r].meta))
			flat = append(flat, d.sends[r].meta...)
		}
	}
	if err := d.t.c.AllToAll(ctx, collective.Of(lengths), collective.Of(theirs)); err != nil {
		return nil, err
	}
	var total int64
	for _, n := range theirs {
		total += n
	}
	metas := make([]int64, total)
	if err := d.t.c.AllToAllV(ctx, collective.Of(flat), collective.Of(metas), lengths, theirs); err != nil {
		return nil, err
	}
	if own == nil {
		own = d.room(metas, theirs)
	}
	if err := d.call.Errors(ctx, own); err != nil {
		return nil, err
	}
	if err := d.move(ctx); err != nil {
		return nil, err
	}
	got, err := d.lists(ctx)
	if err := d.call.Errors(ctx, err); err != nil {
		ReleaseLists(got)
		return nil, err
	}
	return got, nil
}

// pack describes what every rank gets.
func (d *dealing) pack(ctx context.Context) error {
	d.sends = make([]*parcel, d.t.c.Size())
	if len(d.parts) != len(d.sends) {
		return device.Errorf(device.ErrMismatch, "", d.call.Op, "%d parts for %d ranks", len(d.parts), len(d.sends))
	}
	for r, lists := range d.parts {
		p := &parcel{dicts: map[*memory.Column]int{}}
		d.sends[r] = p
		for _, l := range lists {
			if err := d.t.check(d.call.Op, d.types, append([]*memory.Column{}, l.Columns...), 0); err != nil {
				return err
			}
			if r == d.t.c.Rank() {
				continue
			}
			p.meta = append(p.meta, l.Rows)
			for i, c := range l.Columns {
				if err := d.add(ctx, p, i, c); err != nil {
					return err
				}
			}
		}
	}
	return d.measure(ctx)
}

// add describes column i of a list.
func (d *dealing) add(ctx context.Context, p *parcel, i int, c *memory.Column) error {
	if d.goes(i) {
		there, err := d.there(ctx, c)
		if err != nil {
			return err
		}
		return d.addFar(p, there)
	}
	near, err := d.near(ctx, c)
	if err != nil {
		return err
	}
	return p.add(near)
}

// near is a column where the host can read it: itself, or a copy that is made once.
func (d *dealing) near(ctx context.Context, c *memory.Column) (*memory.Column, error) {
	if c.Place().HostAccessible() {
		return c, nil
	}
	if there := d.staged[c]; there != nil {
		return there, nil
	}
	there, err := device.Move(ctx, d.t.stream, d.t.dev.Pinned(), c)
	if err == nil {
		d.staged[c] = there
	}
	return there, err
}

// each is the words that describe one list.
func (d *dealing) each() int { return metaLen(d.types) } // a list's length is where else it says whether there is one

// room makes the buffers for what the others send.
func (d *dealing) room(metas []int64, lengths []int64) error {
	d.recvs = make([]*parcel, len(lengths))
	var need int64
	for r, n := range lengths {
		p := &parcel{meta: metas[:n:n]}
		d.recvs[r], metas = p, metas[n:]
		if int(n)%d.each() != 0 {
			return device.Errorf(device.ErrMismatch, "", d.call.Op, "rank %d describes its columns by %d words, which is no multiple of %d", r, n, d.each())
		}
		d.eachBuffer(p, func(_ int, n int64) error { need += n; return nil })
	}
	for r, p := range d.recvs {
		if err := d.eachBuffer(p, func(i int, n int64) error {
			if d.goes(i) {
				return p.roomFar(d.t.dev.Memory(), n)
			}
			b, err := memory.New(d.t.near(), n)
			if err == nil {
				p.buffers, p.bytes = append(p.buffers, b), append(p.bytes, b.Bytes())
			}
			return err
		}); err != nil {
			return fmt.Errorf("%d bytes come, and there is no room for those of rank %d: %w", need, r, err)
		}
	}
	return nil
}

// eachBuffer calls f with the number of the column and the length of every buffer of a parcel.
func (d *dealing) eachBuffer(p *parcel, f func(i int, n int64) error) error {
	for at := 0; at < len(p.meta); at += d.each() {
		node := at + 1
		for i, typ := range d.types {
			for end := node + nodeLen*nodes(typ); node < end; node += nodeLen {
				for _, n := range p.meta[node+4 : node+nodeLen] {
					if n < 0 {
						continue
					}
					if err := f(i, n); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

const (
	// pieceMost is how many bytes go in one message at most, below what transports count in 32 bits.
	pieceMost = 1<<30 - 1<<20
	// shortMost is how long buffers are that go together: a message costs about as much as such a copy.
	shortMost = 16 << 10
)

// move sends and receives all buffers, peers in turn from the next rank on, so that not all send to
// one at once.
func (d *dealing) move(ctx context.Context) error {
	self, size := d.t.c.Rank(), d.t.c.Size()
	var transfers []collective.Transfer
	var arrived []func()
	for i := 1; i < size; i++ {
		to, from := (self+i)%size, (self+size-i)%size
		short, long := d.t.parted(d.sends[to].bytes)
		for _, b := range append(d.t.pieces(joined(short)), long...) {
			transfers = append(transfers, collective.Transfer{Peer: to, Data: collective.Of(b)})
		}
		short, long = d.t.parted(d.recvs[from].bytes)
		flat := joined(short)
		for _, b := range append(d.t.pieces(flat), long...) {
			transfers = append(transfers, collective.Transfer{Peer: from, Data: collective.Of(b), Recv: true})
		}
		arrived = append(arrived, func() {
			at := 0
			for _, b := range short {
				at += copy(b, flat[at:])
			}
		})
	}
	if !d.onlyFar() {
		if err := d.t.c.Exchange(ctx, transfers); err != nil {
			return err
		}
	}
	for _, f := range arrived {
		f()
	}
	return d.moveFar(ctx)
}

// parted are the buffers that go together, and the messages of the others.
func (t *Comm) parted(all [][]byte) (short, long [][]byte) {
	for _, b := range all {
		if len(b) <= t.short {
			short = append(short, b)
		} else {
			long = append(long, t.pieces(b)...)
		}
	}
	return short, long
}

// pieces are the messages of bytes: none where there are none.
func (t *Comm) pieces(b []byte) (all [][]byte) {
	for len(b) > t.piece {
		all, b = append(all, b[:t.piece:t.piece]), b[t.piece:]
	}
	if len(b) > 0 {
		all = append(all, b)
	}
	return all
}

func joined(list [][]byte) []byte {
	var all []byte
	for _, b := range list {
		all = append(all, b...)
	}
	return all
}

// lists makes columns of what came, and of what was here.
func (d *dealing) lists(ctx context.Context) (_ [][]List, err error) {
	all := make([][]List, len(d.recvs))
	defer func() {
		if err != nil {
			ReleaseLists(all)
		}
	}()
	for r, p := range d.recvs {
		if r == d.t.c.Rank() {
			for _, l := range d.parts[r] {
				cols, err := d.t.own(ctx, l.Columns)
				if err != nil {
					return nil, err
				}
				all[r] = append(all[r], List{l.Rows, cols})
			}
			continue
		}
		if all[r], err = d.unpack(ctx, p); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unpack makes the lists of one rank.
func (d *dealing) unpack(ctx context.Context, p *parcel) (all []List, err error) {
	defer func() {
		if err != nil {
			ReleaseLists([][]List{all})
			all = nil
		}
	}()
	if err := d.rebase(ctx, p); err != nil {
		return nil, err
	}
	at, buffers, dicts := 0, p.buffers, map[int]*memory.Column{}
	defer func() {
		for _, c := range dicts {
			c.Release()
		}
	}()
	for at < len(p.meta) {
		l := List{Rows: p.meta[at]}
		at++
		for i, typ := range d.types {
			place := memory.Host
			if d.goes(i) {
				place = d.t.dev.Place()
			}
			c, err := column(typ, place, p.meta, &at, &buffers, dicts)
			if err != nil {
				Release(l.Columns)
				return all, err
			}
			l.Columns = append(l.Columns, c)
		}
		if !d.t.dev.Place().HostAccessible() {
			there, err := d.t.own(ctx, l.Columns)
			Release(l.Columns)
			if err != nil {
				return all, err
			}
			l.Columns = there
		}
		all = append(all, l)
	}
	return all, nil
}

// ReleaseLists drops the references of lists.
func ReleaseLists(all [][]List) {
	for _, lists := range all {
		for _, l := range lists {
			Release(l.Columns)
		}
	}
}
