package faultinject

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/ondevice"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
)

// onDevices are the ways of vectors in the memory of a device, here a pretended one that the host cannot read: reductions by
// the device's kernels, to all ranks and to parts of unequal lengths, operations that are staged through the host, of which
// each is the host's but for two copies, messages, and several that are under way together.
func onDevices() []subject {
	return []subject{
		{name: "AllReduce on a device", messages: []int64{0, 4}, enter: devices(func(d *deviceRank, round int) error {
			_, sums := everybodys(600, round)
			return d.checked(d.d.AllReduce(context.Background(), d.in(numbers(d.rank, 600, round)), d.out(sums), collective.Sum))
		})},
		{name: "ReduceScatterV on a device", messages: []int64{0, 2}, enter: devices(reduceParts)},
		{name: "AllToAllV on a device", messages: []int64{0, 2}, enter: devices(tradeParts)},
		{name: "Broadcast on a device", messages: []int64{0, 1}, enter: devices(func(d *deviceRank, round int) error {
			root := (round + victim) % ranks
			return d.checked(d.d.Broadcast(context.Background(), d.in(numbers(d.rank, 600, round)), d.out(numbers(root, 600, round)), root))
		})},
		{name: "Exchange on a device", messages: []int64{0, 2}, enter: devices(func(d *deviceRank, round int) error {
			next, prev := (d.rank+1)%ranks, (d.rank+ranks-1)%ranks
			return d.checked(d.d.Exchange(context.Background(), []ondevice.Transfer{
				{Peer: next, Data: d.in(numbers(d.rank, 600, round))}, {Peer: prev, Data: d.out(numbers(prev, 600, round)), Recv: true}}))
		})},
		{name: "operations under way on a device", messages: []int64{1, 11}, enter: devices(devicesUnderWay)},
	}
}

// deviceRank is one rank and its device.
type deviceRank struct {
	d       *ondevice.Comm
	rank    int
	b       *kernels.Backend
	s       device.Stream
	counted *memory.Counted // what the host holds for it
	// Of the call under way: what failed before it, vectors, and results.
	failed error
	given  []ondevice.Vector
	got    []ondevice.Vector
	want   [][]int32
}

var generic = cpu.Generic()

// devices makes the calls of f on a device. Nothing may be out when the last has ended.
func devices(f func(d *deviceRank, round int) error) func(c *collective.Comm) (func(int) error, func() error, error) {
	return func(c *collective.Comm) (func(int) error, func() error, error) {
		d := &deviceRank{rank: c.Rank(), counted: memory.NewCounted(memory.Heap)}
		d.b = kerneltest.Remote(memory.Place{Type: memory.OpenCL, ID: 7}, generic, host.WithAllocator(d.counted))
		var err error
		if d.d, err = ondevice.New(c, d.b); err != nil {
			return nil, nil, err
		}
		if d.s, err = d.b.NewStream(); err != nil {
			return nil, nil, err
		}
		call := func(round int) error {
			d.failed, d.given, d.got, d.want = nil, nil, nil, nil
			err := f(d, round)
			for _, v := range slices.Concat(d.given, d.got) {
				if v.Buffer != nil {
					v.Buffer.Release()
				}
			}
			return err
		}
		leave := func() error {
			err := errors.Join(d.d.Close(), d.s.Close(), d.counted.Check())
			if n := d.b.Device.(*devicetest.Remote).InUse(); n != 0 {
				err = errors.Join(err, fmt.Errorf("%d bytes of the device are out", n))
			}
			return errors.Join(err, d.b.Close())
		}
		return call, leave, nil
	}
}

// put brings values to the device, behind three others.
func (d *deviceRank) put(values []int32) (v ondevice.Vector) {
	v = ondevice.Vector{Type: collective.Int32, Offset: 3, Len: int64(len(values))}
	b, err := memory.New(d.b.Device.Memory(), 4*(v.Len+v.Offset))
	if err != nil {
		d.failed = errors.Join(d.failed, err)
		return v
	}
	v.Buffer = b
	near, err := memory.New(memory.Heap, 4*v.Len)
	if err == nil && v.Len > 0 {
		copy(memory.View[int32](near), values)
		err = errors.Join(d.s.Copy(b, 4*v.Offset, near, 0, near.Len()), d.s.Wait(context.Background()))
	}
	near.Release()
	d.failed = errors.Join(d.failed, err)
	return v
}

func (d *deviceRank) in(values []int32) ondevice.Vector {
	v := d.put(values)
	d.given = append(d.given, v)
	return v
}

func (d *deviceRank) out(want []int32) ondevice.Vector {
	v := d.put(make([]int32, len(want)))
	d.got, d.want = append(d.got, v), append(d.want, want)
	return v
}

// checked is the error of a call, or, where it has none, that of its results.
func (d *deviceRank) checked(err error) error {
	if err = errors.Join(d.failed, err); err != nil {
		return err
	}
	for i, v := range d.got {
		if v.Len == 0 {
			continue
		}
		near, err := memory.New(memory.Heap, 4*v.Len)
		if err != nil {
			return err
		}
		err = errors.Join(d.s.Copy(near, 0, v.Buffer, 4*v.Offset, 4*v.Len), d.s.Wait(context.Background()))
		if err == nil && !slices.Equal(memory.View[int32](near), d.want[i]) {
			err = fmt.Errorf("%w: that of operation %d", errWrong, i)
		}
		near.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// counts are those of a round, and the first element of every rank's block.
func counts(round int) (counts []int64, from []int) {
	counts, from = make([]int64, ranks), make([]int, ranks+1)
	for r := range ranks {
		n := lengths[(r+round)%ranks]
		counts[r], from[r+1] = int64(n), from[r]+n
	}
	return counts, from
}

func reduceParts(d *deviceRank, round int) error {
	each, from := counts(round)
	_, sums := everybodys(from[ranks], round)
	return d.checked(d.d.ReduceScatterV(context.Background(), d.in(numbers(d.rank, from[ranks], round)), d.out(sums[from[d.rank]:from[d.rank+1]]), each, collective.Sum))
}

func tradeParts(d *deviceRank, round int) error {
	sends := make([]int64, ranks)
	var in, want []int32
	for r := range ranks {
		n := lengths[(d.rank+r+round)%ranks]
		sends[r] = int64(n)
		in, want = append(in, numbers(10*d.rank+r, n, round)...), append(want, numbers(10*r+d.rank, n, round)...)
	}
	return d.checked(d.d.AllToAllV(context.Background(), d.in(in), d.out(want), sends, slices.Clone(sends)))
}

// devicesUnderWay starts operations, a group among them, and waits for all. When one has a Fault all later ones have the same.
func devicesUnderWay(d *deviceRank, round int) error {
	const n = 300
	ctx, me, root := context.Background(), d.rank, round%ranks
	next, prev := (me+1)%ranks, (me+ranks-1)%ranks
	all, sums := everybodys(n, round)
	mine := func() ondevice.Vector { return d.in(numbers(me, n, round)) }
	g := d.d.Group()
	g.AllReduce(mine(), d.out(sums), collective.Sum) // these two are done as one
	g.AllReduce(mine(), d.out(sums), collective.Sum)
	g.Broadcast(mine(), d.out(numbers(root, n, round)), root)
	g.Send(mine(), next)
	g.Recv(d.out(numbers(prev, n, round)), prev)
	handles := []*ondevice.Handle{
		d.d.AllReduceAsync(ctx, mine(), d.out(sums), collective.Sum),
		d.d.AllGatherVAsync(ctx, mine(), d.out(all), []int64{n, n, n, n}),
		g.Start(ctx),
		d.d.BarrierAsync(ctx),
		d.d.ReduceScatterAsync(ctx, mine(), d.out(sums[me*n/ranks:(me+1)*n/ranks]), collective.Sum),
	}
	var first error
	for i, h := range handles {
		err := h.Wait(ctx)
		if first != nil && (err == nil || err.Error() != first.Error()) {
			first = fmt.Errorf("operation %d ends with %w, one before with %w", i, err, first)
		} else {
			first = err
		}
	}
	return d.checked(first)
}
