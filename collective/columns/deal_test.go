package columns

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective/agree"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/memory"
)

// deals has every rank give every other several lists, some of them without rows, whose dictionaries are shared.
func deals(t *testing.T, open func() device.Device) {
	ctx := context.Background()
	seeds := func(from, to int) []uint64 {
		return []uint64{uint64(10*from + to), uint64(10*from + to), 7, 100 + uint64(to)}[:1+(from+2*to)%4]
	}
	for r, err := range on(t, open, func(c *Comm, dev device.Device, s device.Stream) error {
		rank := c.c.Rank()
		for _, sizes := range [][2]int{{shortMost, pieceMost}, {0, 100}, {64, 64}} { // all alone and in pieces, and some together
			c.short, c.piece = sizes[0], sizes[1]
			parts := make([][]List, ranks)
			for to := range parts {
				var last []*memory.Column
				for i, seed := range seeds(rank, to) {
					near := sample(t, seed, 20*((i+to)%3), i)
					cols, err := place(dev, s, near)
					Release(near)
					if err != nil {
						return err
					}
					if i == 1 { // the same columns again
						Release(cols)
						cols = nil
						for _, x := range last {
							cols = append(cols, x.Retain())
						}
					}
					parts[to] = append(parts[to], List{cols[0].Len(), cols})
					last = cols
				}
			}
			got, err := c.Deal(ctx, agree.New(c.c, "deal", ""), types, parts, nil)
			ReleaseLists(parts)
			if err != nil {
				return err
			}
			for from := range got {
				if err := c.dealt(t, dev, s, got[from], seeds(from, rank), rank); err != nil {
					return fmt.Errorf("from rank %d: %w", from, err)
				}
			}
			ReleaseLists(got)
		}
		none := make([][]List, ranks)
		for to := range none {
			none[to] = []List{{Rows: int64(rank)}} // rows without columns
		}
		got, err := c.Deal(ctx, agree.New(c.c, "deal", ""), nil, none, nil)
		if err != nil {
			return err
		}
		for from := range got {
			if len(got[from]) != 1 || got[from][0].Rows != int64(from) {
				return fmt.Errorf("rows without columns from %d: %v", from, got[from])
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// dealt compares lists with those that were sent.
func (c *Comm) dealt(t *testing.T, dev device.Device, s device.Stream, got []List, seeds []uint64, to int) error {
	if len(got) != len(seeds) {
		return fmt.Errorf("%d lists, not %d", len(got), len(seeds))
	}
	for i, seed := range seeds {
		at := i
		if i == 1 {
			at = 0 // the first again
		}
		want := sample(t, seed, 20*((at+to)%3), at)
		for k := range want {
			if err := same(dev, s, got[i].Columns[k], want[k]); err != nil {
				Release(want)
				return fmt.Errorf("list %d: %w", i, err)
			}
		}
		Release(want)
	}
	return nil
}

func TestDeal(t *testing.T) { deals(t, func() device.Device { return host.New() }) }

func TestDealOfARemoteDevice(t *testing.T) { onRemotes(t, deals) }

// A dictionary that several lists have goes to a rank once.
func TestDealSendsADictionaryOnce(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, dev device.Device, s device.Stream) error {
		dictionary := types[len(types)-1:]
		cols := sample(t, 5, 200, 0)
		defer Release(cols)
		column := cols[len(cols)-1]
		parts := make([][]List, ranks)
		for to := range parts {
			for i := range int64(50) {
				some, err := column.Slice(4*i, 4)
				if err != nil {
					return err
				}
				parts[to] = append(parts[to], List{4, []*memory.Column{some}})
			}
		}
		defer ReleaseLists(parts)
		got, err := c.Deal(ctx, agree.New(c.c, "deal", ""), dictionary, parts, nil)
		if err != nil {
			return err
		}
		defer ReleaseLists(got)
		for _, lists := range got {
			for _, l := range lists {
				if l.Columns[0].Dictionary() != lists[0].Columns[0].Dictionary() {
					return errors.New("a list has a dictionary of its own")
				}
			}
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// An error that one rank comes with, and lists that do not fit the types, are one error on all.
func TestDealTellsErrors(t *testing.T) {
	ctx := context.Background()
	for r, err := range on(t, func() device.Device { return host.New() }, func(c *Comm, dev device.Device, s device.Stream) error {
		cols := sample(t, 5, 20, 0)
		defer Release(cols)
		parts := make([][]List, ranks)
		for to := range parts {
			parts[to] = []List{{20, cols}}
		}
		hold := func(own error, types []arrow.DataType, parts [][]List, blamed int) error {
			_, err := c.Deal(ctx, agree.New(c.c, "deal", ""), types, parts, own)
			var e *agree.Error
			if !errors.As(err, &e) || len(e.Ranks) != 1 || e.Ranks[0] != blamed || c.c.Fault() != nil {
				return fmt.Errorf("it gets %w", err)
			}
			return nil
		}
		var own error
		few := parts
		if c.c.Rank() == 1 {
			own = errors.New("one rank's")
		}
		if c.c.Rank() == 2 {
			few = parts[:1]
		}
		if err := hold(own, types, parts, 1); err != nil {
			return err
		}
		if err := hold(nil, types, few, 2); err != nil {
			return err
		}
		return c.c.Barrier(ctx)
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}
