package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// AllToAll sends the r-th of the Size equal blocks of in to rank r and puts what
// rank r sent into the r-th block of out. in and out are of the same length and do
// not overlap.
func (c *Comm) AllToAll(ctx context.Context, in, out Vector) error {
	held, same := c.repeats(algorithm.AllToAll, in, out, 0, 0)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.allToAll(in, out, nil, nil)
	return c.do(ctx, held, r, err)
}

// AllToAllAsync starts an AllToAll.
func (c *Comm) AllToAllAsync(ctx context.Context, in, out Vector) *Handle {
	r, err := c.allToAll(in, out, nil, nil)
	return c.begin(ctx, r, err)
}

// AllToAllV is an AllToAll that sends sends[r] elements to rank r and receives
// recvs[r] from it, which are that rank's sends for this one.
func (c *Comm) AllToAllV(ctx context.Context, in, out Vector, sends, recvs []int64) error {
	r, err := c.allToAllV(in, out, sends, recvs)
	return c.do(ctx, false, r, err)
}

func (c *Comm) allToAllV(in, out Vector, sends, recvs []int64) (*request, error) {
	if sends == nil || len(recvs) != c.Size() {
		return nil, wrong(algorithm.AllToAll, "%d counts to send and %d to receive for %d ranks", len(sends), len(recvs), c.Size())
	}
	return c.allToAll(in, out, sends, recvs)
}

func (c *Comm) allToAll(in, out Vector, sends, recvs []int64) (*request, error) {
	r, err := c.request(algorithm.AllToAll, in, out, Op{}, 0, sends)
	if err != nil {
		return nil, err
	}
	if sends == nil {
		if in.Len()%int64(c.Size()) != 0 {
			return nil, wrong(algorithm.AllToAll, "%d elements for %d ranks", in.Len(), c.Size())
		}
		r.call.Count = in.Len() / int64(c.Size())
		return r, r.lengths()
	}
	if err := checkCounts(algorithm.AllToAll, "the count from rank %d is %d", recvs); err != nil {
		return nil, err
	}
	r.call.Recvs, r.call.Count = recvs, 0
	return r, r.lengths()
}
