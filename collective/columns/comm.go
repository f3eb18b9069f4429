package columns

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/internal/direct"
	"github.com/volley-go/volley/collective/internal/queue"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Comm moves and reduces columns over the ranks of a collective.Comm. Its calls are as
// those of that: all ranks make the same ones in the same order, and a rank that dies,
// leaves or fails ends them on all with a collective.Fault. They are done one after another,
// in the order in which they were called or started, from any goroutine; until they are
// done the collective.Comm is theirs.
type Comm struct {
	c      *collective.Comm
	dev    device.Device
	stream device.Stream
	queue  *queue.Queue
	short  int // of Deal: up to how many bytes buffers go together,
	piece  int // and how many bytes go in one message at most
	gpu    direct.Equipment
	link   *direct.Link     // of Deal: what carries buffers of GPUs, nil where the host does
	kit    *kernels.Backend // the device's, where there is a link
}

// New makes one of a communicator, which stays the caller's, and the device in whose
// memory results are.
func New(c *collective.Comm, dev device.Device) (*Comm, error) {
	s, err := dev.NewStream()
	if err != nil {
		return nil, err
	}
	return &Comm{c: c, dev: dev, stream: s, queue: queue.New(c, "the columns' Comm"), short: shortMost, piece: pieceMost}, nil
}

// Close ends the stream of New. Calls that are not done end with ErrClosed, and on the
// other ranks, and for the collective.Comm, with a Fault that says that this one has left;
// Close waits for them. A second Close does nothing.
func (t *Comm) Close() error {
	if !t.queue.Close() {
		return nil
	}
	return t.stream.Close()
}

// near is where columns are that the host reads on their way: the device's memory, or the
// pinned one.
func (t *Comm) near() memory.Allocator {
	if t.dev.Place().HostAccessible() {
		return t.dev.Memory()
	}
	return t.dev.Pinned()
}

// AllGather gives every rank the columns of all, by rank. Columns that this rank gave
// are among them as they are, where they are in the device's memory.
func (t *Comm) AllGather(ctx context.Context, types []arrow.DataType, cols []*memory.Column) ([][]*memory.Column, error) {
	return do(ctx, t, t.allGather(types, cols))
}

func (t *Comm) allGather(types []arrow.DataType, cols []*memory.Column) job[[][]*memory.Column] {
	return t.trading("AllGather", types, 0, repeated(t.c.Size(), cols), func(int) bool { return true })
}

// Gather gives the root the columns of all ranks, by rank, and the others nil.
func (t *Comm) Gather(ctx context.Context, types []arrow.DataType, cols []*memory.Column, root int) ([][]*memory.Column, error) {
	return do(ctx, t, t.gather(types, cols, root))
}

func (t *Comm) gather(types []arrow.DataType, cols []*memory.Column, root int) job[[][]*memory.Column] {
	lists := make([][]*memory.Column, t.c.Size())
	if root >= 0 && root < len(lists) {
		lists[root] = cols
	}
	return t.trading("Gather", types, root, lists, func(int) bool { return t.c.Rank() == root })
}

// Scatter gives rank r the r-th list of the root, who alone gives parts.
func (t *Comm) Scatter(ctx context.Context, types []arrow.DataType, parts [][]*memory.Column, root int) ([]*memory.Column, error) {
	return do(ctx, t, t.scatter(types, parts, root))
}

func (t *Comm) scatter(types []arrow.DataType, parts [][]*memory.Column, root int) job[[]*memory.Column] {
	if t.c.Rank() != root {
		parts = make([][]*memory.Column, t.c.Size())
	}
	all := t.trading("Scatter", types, root, parts, func(from int) bool { return from == root })
	return job[[]*memory.Column]{call: all.call, err: all.err, held: all.held, run: func(ctx context.Context) ([]*memory.Column, error) {
		got, err := all.run(ctx)
		if err != nil {
			return nil, err
		}
		return got[root], nil
	}}
}

// AllToAll gives rank r the r-th list of every rank, by rank.
func (t *Comm) AllToAll(ctx context.Context, types []arrow.DataType, parts [][]*memory.Column) ([][]*memory.Column, error) {
	return do(ctx, t, t.allToAll(types, parts))
}

func (t *Comm) allToAll(types []arrow.DataType, parts [][]*memory.Column) job[[][]*memory.Column] {
	return t.trading("AllToAll", types, 0, parts, func(int) bool { return true })
}

func repeated(n int, cols []*memory.Column) [][]*memory.Column {
	lists := make([][]*memory.Column, n)
	for i := range lists {
		lists[i] = cols
	}
	return lists
}

// Broadcast gives every rank the root's columns; the others give none.
func (t *Comm) Broadcast(ctx context.Context, types []arrow.DataType, cols []*memory.Column, root int) ([]*memory.Column, error) {
	return do(ctx, t, t.broadcast(types, cols, root))
}

func (t *Comm) broadcast(types []arrow.DataType, cols []*memory.Column, root int) job[[]*memory.Column] {
	if t.c.Rank() != root {
		cols = nil
	}
	cols = slices.Clone(cols)
	return job[[]*memory.Column]{call: "Broadcast", err: t.check("Broadcast", types, cols, root), held: cols,
		run: func(ctx context.Context) ([]*memory.Column, error) { return t.tell(ctx, types, cols, root) }}
}

// tell runs a Broadcast.
func (t *Comm) tell(ctx context.Context, types []arrow.DataType, cols []*memory.Column, root int) ([]*memory.Column, error) {
	if err := t.agree(ctx, "Broadcast", types, root); err != nil {
		return nil, err
	}
	p, err := t.pack(ctx, types, cols)
	if err != nil {
		return nil, t.fail(err)
	}
	defer p.release()
	if err := t.c.Broadcast(ctx, collective.Of(p.meta), collective.Of(p.meta), root); err != nil {
		return nil, err
	}
	in := p
	if t.c.Rank() != root {
		if in, err = t.room(types, p.meta); err != nil {
			return nil, t.fail(err)
		}
		defer in.release()
	}
	for _, b := range in.bytes {
		if err := t.c.Broadcast(ctx, collective.Of(b), collective.Of(b), root); err != nil {
			return nil, err
		}
	}
	if t.c.Rank() == root {
		return t.own(ctx, cols)
	}
	return t.unpack(ctx, types, in)
}

// check finds arguments that are wrong on this rank: nothing was sent then.
func (t *Comm) check(call string, types []arrow.DataType, cols []*memory.Column, root int) error {
	if root < 0 || root >= t.c.Size() {
		return device.Errorf(device.ErrMismatch, "", call, "root %d is not one of %d ranks", root, t.c.Size())
	}
	for i, typ := range types {
		if memory.LayoutOf(typ) == memory.LayoutUnknown {
			return device.Errorf(device.ErrUnsupported, "", call, "column %d: %s", i, typ)
		}
	}
	if cols == nil {
		return nil
	}
	if len(cols) != len(types) {
		return device.Errorf(device.ErrMismatch, "", call, "%d columns for %d types", len(cols), len(types))
	}
	for i, c := range cols {
		if !arrow.TypeEqual(c.Type(), types[i]) {
			return device.Errorf(device.ErrMismatch, "", call, "column %d is %s, not %s", i, c.Type(), types[i])
		}
	}
	return nil
}

// agree finds ranks that are in another call, or have other types: on all ranks alike.
func (t *Comm) agree(ctx context.Context, call string, types []arrow.DataType, root int) error {
	h := fnv.New64a()
	h.Write([]byte{byte(root), byte(root >> 8), byte(root >> 16)})
	h.Write([]byte(call))
	for _, typ := range types {
		h.Write([]byte(typ.String()))
		h.Write([]byte{0})
	}
	own := int64(h.Sum64() >> 1)
	ends := []int64{own, -own}
	if err := t.c.AllReduce(ctx, collective.Of(ends), collective.Of(ends), collective.Max); err != nil {
		return err
	}
	if ends[0] != -ends[1] {
		return device.Errorf(device.ErrMismatch, "", call, "the ranks' columns are of different types, or their calls or roots are not the same; here they are %v", types)
	}
	return nil
}

// errFailed is why a rank leaves a call that the others are in.
var errFailed = errors.New("a rank could not go on")

// fail tells the other ranks that this one cannot go on.
func (t *Comm) fail(err error) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.Join(errFailed, err))
	_ = t.c.Barrier(ctx) // ends with the Fault that all get; err says more
	return err
}

// trading makes the job of a trade of lists, one for every rank.
func (t *Comm) trading(call string, types []arrow.DataType, root int, lists [][]*memory.Column, in func(from int) bool) job[[][]*memory.Column] {
	j := job[[][]*memory.Column]{call: call}
	if len(lists) != t.c.Size() {
		j.err = device.Errorf(device.ErrMismatch, "", call, "%d lists of columns for %d ranks", len(lists), t.c.Size())
		return j
	}
	out := make([][]*memory.Column, len(lists))
	for r, cols := range lists {
		if j.err == nil {
			j.err = t.check(call, types, cols, root)
		}
		out[r] = slices.Clone(cols)
		j.held = append(j.held, cols...)
	}
	j.run = func(ctx context.Context) ([][]*memory.Column, error) {
		return t.trade(ctx, call, types, root, func(to int) []*memory.Column { return out[to] }, in)
	}
	return j
}

// trade sends this rank's out(r) to every rank r and receives from those that in says.
func (t *Comm) trade(ctx context.Context, call string, types []arrow.DataType, root int, out func(to int) []*memory.Column, in func(from int) bool) (_ [][]*memory.Column, err error) {
	if err := t.agree(ctx, call, types, root); err != nil {
		return nil, err
	}
	self, size := t.c.Rank(), t.c.Size()
	each := metaLen(types)
	sends, lengths := make([]*parcel, size), make([]int64, 0, size*each)
	packed := map[*memory.Column]*memory.Column{} // staged once, though several ranks get it
	defer func() {
		for _, c := range packed {
			c.Release()
		}
	}()
	for r := range size {
		cols := out(r)
		if r == self {
			cols = nil
		}
		if sends[r], err = t.packOnce(ctx, types, cols, packed); err != nil {
			return nil, t.fail(err)
		}
		lengths = append(lengths, sends[r].meta...)
	}
	theirs := make([]int64, len(lengths))
	if err := t.c.AllToAll(ctx, collective.Of(lengths), collective.Of(theirs)); err != nil {
		return nil, err
	}
	var transfers []collective.Transfer
	recvs := make([]*parcel, size)
	defer func() {
		for _, p := range recvs {
			p.release()
		}
	}()
	for r := range size {
		if r == self {
			continue
		}
		if recvs[r], err = t.room(types, theirs[r*each:(r+1)*each]); err != nil {
			return nil, t.fail(err)
		}
		for _, b := range sends[r].bytes {
			transfers = append(transfers, collective.Transfer{Peer: r, Data: collective.Of(b)})
		}
		for _, b := range recvs[r].bytes {
			transfers = append(transfers, collective.Transfer{Peer: r, Data: collective.Of(b), Recv: true})
		}
	}
	if err := t.c.Exchange(ctx, transfers); err != nil {
		return nil, err
	}
	return t.results(ctx, types, out(self), recvs, in)
}

// results makes columns of what came.
func (t *Comm) results(ctx context.Context, types []arrow.DataType, own []*memory.Column, recvs []*parcel, in func(from int) bool) (_ [][]*memory.Column, err error) {
	all := make([][]*memory.Column, len(recvs))
	defer func() {
		if err != nil {
			for _, cols := range all {
				Release(cols)
			}
		}
	}()
	some := false
	for r := range recvs {
		if !in(r) {
			continue
		}
		some = true
		if r == t.c.Rank() {
			all[r], err = t.own(ctx, own)
		} else {
			all[r], err = t.unpack(ctx, types, recvs[r])
		}
		if err != nil {
			return nil, err
		}
	}
	if !some {
		return nil, nil
	}
	return all, nil
}

// Release drops a list's references.
func Release(cols []*memory.Column) {
	for _, c := range cols {
		c.Release()
	}
}
