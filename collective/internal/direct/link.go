package direct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
)

const (
	joinLimit  = time.Minute     // for all ranks to come
	closeLimit = 5 * time.Second // for all ranks to close
)

// Link is a communicator between the GPUs of a Comm's ranks. One call at a time.
type Link struct {
	*nccl.Comm
	c *collective.Comm
	// loose says that ranks did not meet after a call: one that is done here may be under way elsewhere.
	loose atomic.Bool
}

// links are those of a Comm, by the GPUs of its ranks, and why there is none.
type links struct {
	mu      sync.Mutex
	closed  bool
	made    map[string]*Link
	refused map[string]error
}

func linksOf(c *collective.Comm) *links {
	return c.Keep("nccl", func() io.Closer {
		return &links{made: map[string]*Link{}, refused: map[string]error{}}
	}).(*links)
}

// Of gives the Comm's link between the GPUs whose IDs all ranks have told all others. All ranks
// call it; the first time they make one. Where there can be none, all get the same ErrUnavailable, which
// says which rank lacks what, also when they ask again. Any other error is the Comm's.
func Of(ctx context.Context, c *collective.Comm, own Equipment, ids []int64) (*Link, error) {
	if err := apart(ids); err != nil {
		return nil, err
	}
	all, key := linksOf(c), fmt.Sprint(ids)
	if l, err := all.get(key); l != nil || err != nil {
		return l, err
	}
	l, err := join(ctx, c, own)
	if err = all.add(key, l, err); err != nil {
		return nil, err
	}
	return l, nil
}

// apart refuses ranks without a GPU, and two on the same.
func apart(ids []int64) error {
	seen := map[int64]int{}
	for r, id := range ids {
		if id == 0 {
			return device.Errorf(device.ErrUnavailable, "cuda", "use NCCL", "rank %d has no GPU, or no NCCL", r)
		}
		if first, twice := seen[id]; twice {
			return device.Errorf(device.ErrUnavailable, "cuda", "use NCCL", "ranks %d and %d have the same GPU", first, r)
		}
		seen[id] = r
	}
	return nil
}

func (a *links) get(key string) (*Link, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.made[key], a.refused[key]
}

// add keeps what came of a join, and gives its error. What ended the Comm is not kept.
func (a *links) add(key string, l *Link, err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil && a.closed:
		l.Abort()
		return device.Errorf(device.ErrClosed, "", "use NCCL", "the Comm is closed")
	case err == nil:
		a.made[key] = l
	case errors.Is(err, device.ErrUnavailable):
		a.refused[key] = err
	}
	return err
}

// Close closes all links. One whose calls are all done on all ranks is aborted, which waits for nobody;
// another is closed in order where all ranks close theirs, else by aborting.
func (a *links) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, l := range a.made {
		l.close()
	}
	clear(a.made)
	return nil
}

func (l *Link) close() {
	if l.c.Fault() != nil || !l.loose.Load() {
		l.Abort()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	watched, stop := watch(ctx, l.c)
	defer stop()
	_ = l.Comm.Close(watched) // what it says is that others did not come: then it was aborted
}

// join makes the ranks' communicator.
func join(ctx context.Context, c *collective.Comm, own Equipment) (*Link, error) {
	if err := Everyone(ctx, c, own.library.Version(), nil); err != nil {
		return nil, err
	}
	var id nccl.ID
	var err error
	if c.Rank() == 0 {
		id, err = own.library.NewID()
	}
	if err := Everyone(ctx, c, 1, err); err != nil {
		return nil, err
	}
	if err := c.Broadcast(ctx, collective.Of(id[:]), collective.Of(id[:]), 0); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	watched, stop := watch(limited, c)
	comm, err := own.library.Join(watched, own.gpu, id, c.Rank(), c.Size())
	stop()
	if failed := Everyone(ctx, c, 1, err); failed != nil {
		if comm != nil {
			comm.Abort()
		}
		return nil, failed
	}
	return &Link{Comm: comm, c: c}, nil
}

// Everyone is an error on all ranks, the same, where one has one or the numbers that
// they give differ.
func Everyone(ctx context.Context, c *collective.Comm, number int, err error) error {
	const width = 256
	own, all := make([]byte, width), make([]byte, width*c.Size())
	if err != nil {
		copy(own, err.Error())
	}
	numbers := make([]int64, c.Size())
	if err := c.AllGather(ctx, collective.Of([]int64{int64(number)}), collective.Of(numbers)); err != nil {
		return err
	}
	if err := c.AllGather(ctx, collective.Of(own), collective.Of(all)); err != nil {
		return err
	}
	var said []string
	for r, n := range numbers {
		if text := strings.TrimRight(string(all[r*width:(r+1)*width]), "\x00"); text != "" {
			said = append(said, fmt.Sprintf("rank %d: %s", r, text))
		} else if n != numbers[0] && numbers[0] != 0 {
			said = append(said, fmt.Sprintf("rank %d has version %d, rank 0 %d", r, n, numbers[0]))
		}
	}
	if said == nil {
		return nil
	}
	return device.Errorf(device.ErrUnavailable, "cuda", "use NCCL", "%s", strings.Join(said, "; "))
}
