package pmix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Once a rank has left a server and has come back, by another client, fences cannot be relied on: OpenPMIx's server counts who is
// to take part in them wrongly. It takes a rank whose earlier connection it sees end out of the fence that is under way, though the
// rank belongs to it by its new one. And where it has not yet noted that the rank has left when it sees that end, since two of its
// threads do these, it counts a rank less from then on: fences end before the last rank has come, who waits in another one, and a
// question for what a rank has not put yet is sent to the launcher, which never answers. That is so in 4.2.2, on a busy machine.
//
// So only a process's first exchange has a fence. In later ones a rank asks for each other's card until it is there, and has the
// server of the machine not wait for that. A server keeps what ranks have put until their job is over. So keys have the number of
// exchanges that came about before, which is the same on all ranks, and a card of an earlier meeting is not taken for one of this.

// Exchange gives every rank's bytes to all, by rank. All ranks call it, as often as the
// others. It waits for ranks that are late until ctx ends.
func (c *Client) Exchange(ctx context.Context, own []byte) ([][]byte, error) {
	before := c.d.met.Load()
	key := fmt.Sprintf("volley.card.%d", before)
	if err := c.call(ctx, "PMIx_Put", key, func() int32 { return c.d.put(key, own) }); err != nil {
		return nil, err
	}
	if err := c.call(ctx, "PMIx_Commit", key, c.d.commit); err != nil {
		return nil, err
	}
	var near []int // ranks that the server is not to wait for
	if before == 0 {
		all := fmt.Sprintf("all %d ranks of %s", c.Size, c.Namespace)
		if err := c.call(ctx, "PMIx_Fence", all, func() int32 { return c.d.fence(append(limits(ctx), flag(keyCollectData))) }); err != nil {
			return nil, err
		}
	} else {
		var err error
		if near, err = c.near(ctx); err != nil {
			return nil, err
		}
	}
	cards := make([][]byte, c.Size)
	for r := range cards {
		if r == c.Rank {
			cards[r] = own
			continue
		}
		var err error
		if cards[r], err = c.await(ctx, key, r, slices.Contains(near, r)); err != nil {
			return nil, err
		}
	}
	c.d.met.Add(1)
	return cards, nil
}

// near are the ranks of this machine, of which its server has all that they put.
func (c *Client) near(ctx context.Context) ([]int, error) {
	var near []int
	if c.LocalSize == c.Size {
		for r := range c.Size {
			near = append(near, r)
		}
		return near, nil
	}
	v, text, err := c.ask(ctx, &proc{namespace: c.self.namespace, rank: rankWildcard}, keyLocalPeers, keyLocalPeers, nil)
	switch {
	case isCode(err, errNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case v.typ != typeString:
		return nil, fmt.Errorf("%s is a value of type %d, not text", keyLocalPeers, v.typ)
	}
	for _, word := range strings.Split(string(text), ",") {
		r, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%s is %q: %w", keyLocalPeers, text, err)
		}
		near = append(near, r)
	}
	return near, nil
}

// longestPause is between two questions for what a rank has not put yet.
const longestPause = 50 * time.Millisecond

// await gets a rank's card, which it may put later. A server waits for a rank that has put nothing, but says at once, or after a
// time of its own, that there is no such key of a rank that has put others: then it is asked again.
func (c *Client) await(ctx context.Context, key string, r int, near bool) ([]byte, error) {
	of := &proc{namespace: c.self.namespace, rank: uint32(r)}
	what := fmt.Sprintf("%s of rank %d", key, r)
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		var with []info
		if near {
			with = []info{flag(keyImmediate)}
		}
		v, bytes, err := c.ask(ctx, of, key, what, with)
		switch {
		case err == nil && v.typ == typeByteObject:
			return bytes, nil
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
