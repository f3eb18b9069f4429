package pmix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Once a rank has left a server and has come back, by another client, fences cannot be relied on: OpenPMIx's server counts who is
// to take part in them wrongly. It takes a rank whose earlier connection it sees end out of the fence that is under way, though the
// rank belongs to it by its new one. And where it has not yet noted that the rank has left when it sees that end, since two of its
// threads do these, it counts one rank of its machine less from then on: fences end before the last rank has come, who waits in
// another one, and a question for what a rank has not put yet is sent to the launcher, which never answers. That is so in 4.2.2, on
// a busy machine.
//
// So in all exchanges but a process's first one the ranks of a server find each other by asking for what the others put until it is
// there, and have the server not wait for that. Then all that they have left is known to have ended, since a server sees that before
// it takes anything from a rank's new connection. Where there are other servers, of other machines, a fence follows, of ranks by
// their numbers, which the server does not count in that way; but one that has counted all its ranks away takes part in none.
//
// A server keeps what ranks have put until their job is over. So keys have the number of exchanges that came about before, which is
// the same on all ranks, and a card of an earlier meeting is not taken for one of this.

// Exchange gives every rank's bytes to all, by rank. All ranks call it, as often as the
// others. It waits for ranks that are late until ctx ends.
func (c *Client) Exchange(ctx context.Context, own []byte) ([][]byte, error) {
	before := c.d.met.Load()
	key := fmt.Sprintf("volley.card.%d", before)
	if before == 0 {
		return c.first(ctx, key, own)
	}
	cards, err := c.put(ctx, key, own)
	if err != nil {
		return nil, err
	}
	near, far := *c.d.near.Load(), []int(nil) // ranks of this server, and of others
	for r := range cards {
		if !slices.Contains(near, r) {
			far = append(far, r)
		}
	}
	if err := c.collect(ctx, key, cards, near, true); err != nil {
		return nil, err
	}
	if far != nil {
		if err := c.fence(ctx, c.members()); err != nil {
			return nil, err
		}
		if err := c.collect(ctx, key, cards, far, true); err != nil {
			return nil, err
		}
	}
	c.d.met.Add(1)
	return cards, nil
}

// first is Exchange with a fence of all. The ranks also show each other which server they have.
func (c *Client) first(ctx context.Context, key string, own []byte) ([][]byte, error) {
	cards, err := c.put(ctx, key, slices.Concat([]byte(c.server), []byte{0}, own))
	if err != nil {
		return nil, err
	}
	if err := c.fence(ctx, nil); err != nil {
		return nil, err
	}
	var all, near []int
	for r := range cards {
		all = append(all, r)
	}
	if err := c.collect(ctx, key, cards, all, false); err != nil {
		return nil, err
	}
	for r, card := range cards {
		server, card, found := bytes.Cut(card, []byte{0})
		if !found {
			return nil, fmt.Errorf("%s of rank %d is not a card", key, r)
		}
		cards[r] = card
		if r == c.Rank || c.server != "" && string(server) == c.server {
			near = append(near, r)
		}
	}
	c.d.near.Store(&near)
	c.d.met.Add(1)
	return cards, nil
}

// put puts this rank's bytes, and makes the place for all.
func (c *Client) put(ctx context.Context, key string, own []byte) ([][]byte, error) {
	if err := c.call(ctx, "PMIx_Put", key, func() int32 { return c.d.put(key, own) }); err != nil {
		return nil, err
	}
	if err := c.call(ctx, "PMIx_Commit", key, c.d.commit); err != nil {
		return nil, err
	}
	cards := make([][]byte, c.Size)
	cards[c.Rank] = own
	return cards, nil
}

// members are all ranks, by number.
func (c *Client) members() []proc {
	all := make([]proc, c.Size)
	for r := range all {
		all[r] = proc{namespace: c.self.namespace, rank: uint32(r)}
	}
	return all
}

func (c *Client) fence(ctx context.Context, members []proc) error {
	what := fmt.Sprintf("all %d ranks of %s", c.Size, c.Namespace)
	return c.call(ctx, "PMIx_Fence", what, func() int32 { return c.d.fence(members, append(limits(ctx), flag(keyCollectData))) })
}

// collect gets the cards of ranks that are others.
func (c *Client) collect(ctx context.Context, key string, cards [][]byte, of []int, atOnce bool) (err error) {
	for _, r := range of {
		if r == c.Rank {
			continue
		}
		if cards[r], err = c.await(ctx, key, r, atOnce); err != nil {
			return err
		}
	}
	return nil
}

// longestPause is between two questions for what a rank has not put yet.
const longestPause = 50 * time.Millisecond

// await gets a rank's card, which it may put later. A server waits for a rank that has put nothing, but says at once, or after a
// time of its own, that there is no such key of a rank that has put others: then it is asked again. It does not wait if so told,
// nor ask another machine's.
func (c *Client) await(ctx context.Context, key string, r int, atOnce bool) ([]byte, error) {
	of := &proc{namespace: c.self.namespace, rank: uint32(r)}
	what := fmt.Sprintf("%s of rank %d", key, r)
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		var with []info
		if atOnce {
			with = []info{flag(keyImmediate)}
		}
		v, card, err := c.ask(ctx, of, key, what, with)
		switch {
		case err == nil && v.typ == typeByteObject:
			return card, nil
		case err == nil:
			return nil, fmt.Errorf("%s is a value of type %d, not bytes", what, v.typ)
		case c.stuck != nil, !isCode(err, errNotFound) && !errors.Is(err, context.DeadlineExceeded):
			return nil, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, waited("PMIx_Get", what, context.Cause(ctx))
		}
	}
}
