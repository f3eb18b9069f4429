package columns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

// sendAndReceive has lists go around the ranks, blocking and started, by pairs and at once.
func sendAndReceive(t *testing.T, open func() device.Device) {
	ctx := context.Background()
	for r, err := range on(t, open, func(c *Comm, dev device.Device, s device.Stream) error {
		rank := c.c.Rank()
		next, before := (rank+1)%ranks, (rank+2)%ranks
		list := func(seed, rows int) ([]*memory.Column, error) {
			near := sample(t, uint64(seed), rows, 3)
			defer Release(near)
			return place(dev, s, near)
		}
		compare := func(what string, got []*memory.Column, seed, rows int) error {
			want := sample(t, uint64(seed), rows, 3)
			defer Release(want)
			defer Release(got)
			if len(got) != len(want) {
				return fmt.Errorf("%s: %d columns", what, len(got))
			}
			for i := range want {
				if err := same(dev, s, got[i], want[i]); err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
			}
			return nil
		}
		own, err := list(rank, 20)
		if err != nil {
			return err
		}
		defer Release(own)
		// 0 gives to 1, which gives to 2.
		if rank > 0 {
			got, err := c.Recv(ctx, types, rank-1)
			if err == nil {
				err = compare("Recv", got, rank-1, 20)
			}
			if err != nil {
				return err
			}
		}
		if rank < ranks-1 {
			if err := c.Send(ctx, types, own, rank+1); err != nil {
				return err
			}
		}
		if err := c.Barrier(ctx); err != nil {
			return err
		}
		// Everybody gives two lists to the next, one without rows, and one of no columns to the one before.
		none, err := list(rank, 0)
		if err != nil {
			return err
		}
		defer Release(none)
		group := func() []Transfer {
			return []Transfer{{Peer: next, Types: types, Columns: own}, {Peer: before, Types: types, Recv: true}, {Peer: before, Types: types, Recv: true},
				{Peer: next, Types: types, Columns: none}, {Peer: before}, {Peer: next, Recv: true}}
		}
		hold := func(what string, all [][]*memory.Column) error {
			if len(all) != 6 || all[0] != nil || all[3] != nil || all[4] != nil || len(all[5]) != 0 {
				return fmt.Errorf("%s gives %v", what, all)
			}
			return errors.Join(compare(what, all[1], before, 20), compare(what, all[2], before, 0))
		}
		all, err := c.Exchange(ctx, group())
		if err == nil {
			err = hold("Exchange", all)
		}
		if err != nil {
			return err
		}
		started := c.ExchangeAsync(ctx, group())
		met := c.BarrierAsync(ctx)
		var last *Handle[[]*memory.Column]
		switch rank {
		case 0:
			last = c.SendAsync(ctx, types, own, 2)
		case 2:
			last = c.RecvAsync(ctx, types, 0)
		}
		if all, err = started.Wait(ctx); err == nil {
			err = hold("ExchangeAsync", all)
		}
		if err != nil {
			return err
		}
		if got, err := met.Wait(ctx); err != nil || got != nil {
			return fmt.Errorf("BarrierAsync: %v, %w", got, err)
		}
		if last == nil {
			return nil
		}
		got, err := last.Wait(ctx)
		if err == nil && rank == 2 {
			err = compare("RecvAsync", got, 0, 20)
		} else if got != nil {
			err = errors.Join(err, fmt.Errorf("SendAsync gives %v", got))
		}
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestSendAndReceive(t *testing.T) { sendAndReceive(t, func() device.Device { return host.New() }) }

func TestSendAndReceiveOfARemoteDevice(t *testing.T) {
	onRemotes(t, sendAndReceive)
}

// Arguments that are wrong by themselves send nothing.
func TestSendRefuses(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		cols := sample(t, 1, 5, 0)
		defer Release(cols)
		for what, group := range map[string][]Transfer{
			"itself":               {{Peer: c.c.Rank(), Types: types, Columns: cols}},
			"no such rank":         {{Peer: ranks, Types: types, Recv: true}},
			"too few columns":      {{Peer: (c.c.Rank() + 1) % ranks, Types: types, Columns: cols[1:]}},
			"no columns":           {{Peer: (c.c.Rank() + 1) % ranks, Types: types}},
			"a receiver's columns": {{Peer: (c.c.Rank() + 1) % ranks, Types: types, Columns: cols, Recv: true}},
		} {
			if _, err := c.Exchange(ctx, group); !errors.Is(err, device.ErrMismatch) || c.c.Fault() != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		if _, err := c.Recv(ctx, []arrow.DataType{arrow.FixedWidthTypes.MonthInterval}, (c.c.Rank()+1)%ranks); !errors.Is(err, device.ErrUnsupported) {
			return fmt.Errorf("intervals: %w", err)
		}
		if got, err := c.Exchange(ctx, nil); err != nil || len(got) != 0 {
			return fmt.Errorf("an empty group: %v, %w", got, err)
		}
		return c.Barrier(ctx)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// Ranks whose types differ, though their descriptions are as long, end in one Fault on all.
func TestSendOfOtherTypes(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, _ device.Device, _ device.Stream) error {
		cols := sample(t, 1, 5, 0)
		defer Release(cols)
		var err error
		switch c.c.Rank() {
		case 0:
			err = c.Send(ctx, types[:1], cols[:1], 1)
			if err == nil { // its bytes went before the other one looked
				err = c.Barrier(ctx)
			}
		case 1:
			_, err = c.Recv(ctx, types[1:2], 0)
		default:
			err = c.Barrier(ctx)
		}
		var f *collective.Fault
		if !errors.As(err, &f) || f.Cause != collective.Mismatch || !strings.Contains(f.Text, "columns of other types than rank 1 receives") {
			return fmt.Errorf("it gets %w", err)
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
