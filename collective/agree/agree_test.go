package agree

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/device"
)

// on runs f on every rank.
func on(t *testing.T, n int, f func(ctx context.Context, c *collective.Comm) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	errs := make([]error, n)
	var all sync.WaitGroup
	for r, end := range inproc.New(n) {
		all.Go(func() {
			c, err := collective.New(end, collective.Options{Deadline: 30 * time.Second})
			if err == nil {
				err = errors.Join(f(ctx, c), c.Barrier(ctx), c.Close())
			}
			errs[r] = err
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestMeet(t *testing.T) {
	on(t, 3, func(ctx context.Context, c *collective.Comm) error {
		rank := int64(c.Rank())
		call := New(c, "do", "this")
		all, details, err := call.Meet(ctx, nil, []int64{7, rank}, 1, func() []byte { return []byte{1} })
		require.NoError(t, err)
		require.Nil(t, details, "all are alike")
		require.Equal(t, [][]int64{{7, 0}, {7, 1}, {7, 2}}, all)
		_, details, err = call.Meet(ctx, nil, []int64{7, rank}, 2, func() []byte { return fmt.Appendf(nil, "%d", rank) })
		require.NoError(t, err)
		require.Equal(t, [][]byte{[]byte("0"), []byte("1"), []byte("2")}, details)
		require.NoError(t, call.Errors(ctx, nil))
		bytes, err := Bytes(ctx, c, make([]byte, 2*rank))
		require.NoError(t, err)
		require.Len(t, bytes[0], 0)
		require.Len(t, bytes[2], 4)
		return nil
	})
}

func TestErrorsAreOneOnAll(t *testing.T) {
	mine := errors.New("of my own")
	on(t, 6, func(ctx context.Context, c *collective.Comm) error {
		var own error
		switch c.Rank() {
		case 1, 2, 3, 5:
			own = fmt.Errorf("%w: full \xff", device.ErrOutOfMemory)
		case 4:
			own = errors.Join(mine, device.ErrValue)
		}
		err := New(c, "do", "").Errors(ctx, own)
		require.ErrorIs(t, err, device.ErrOutOfMemory, "the kind of the first")
		require.Equal(t, c.Rank() == 4, errors.Is(err, mine))
		require.EqualError(t, err, "do #1: ranks 1 to 3, 5: out of memory: full \ufffd; rank 4: of my own\ninvalid value")
		other := New(c, "do", "")
		other.Kinds = []error{mine}
		require.ErrorIs(t, other.Errors(ctx, []error{mine, nil}[min(1, c.Rank())]), mine)
		err = New(c, "do", "").Errors(ctx, []error{errors.New(""), nil}[min(1, c.Rank())])
		require.EqualError(t, err, "do #3: rank 0: an error without a text")
		return nil
	})
}

func TestCallsThatDiffer(t *testing.T) {
	on(t, 3, func(ctx context.Context, c *collective.Comm) error {
		call := New(c, []string{"sort", "sort", "join"}[c.Rank()], []string{"by a", "by b", ""}[c.Rank()])
		var own error
		if c.Rank() == 2 {
			own = device.ErrValue
		}
		err := call.Errors(ctx, own)
		require.EqualError(t, err, "rank 0: it calls sort #1 (by a); rank 1: it calls sort #1 (by b); rank 2: it calls join #1, and has an error: invalid value")
		require.ErrorIs(t, err, device.ErrMismatch)
		if c.Rank() == 0 { // a call more than the others
			New(c, "sort", "")
		}
		err = New(c, "sort", "").Errors(ctx, nil)
		require.EqualError(t, err, "rank 0: it calls sort #3; ranks 1, 2: it calls sort #2")
		return nil
	})
}

// The arguments of a rank that could not read them are held against nobody's; the operation is.
func TestRefused(t *testing.T) {
	on(t, 3, func(ctx context.Context, c *collective.Comm) error {
		call := New(c, "sort", []string{"by a", "", "by a"}[c.Rank()])
		var own error
		if call.Refused = c.Rank() == 1; call.Refused {
			own = fmt.Errorf("%w: no text", device.ErrMismatch)
		}
		err := call.Errors(ctx, own)
		require.EqualError(t, err, "sort #1: rank 1: mismatch: no text")
		require.ErrorIs(t, err, device.ErrMismatch)
		call = New(c, []string{"sort", "join", "sort"}[c.Rank()], []string{"by a", "", "by b"}[c.Rank()])
		call.Refused = c.Rank() == 1
		err = call.Errors(ctx, own)
		require.EqualError(t, err, "rank 0: it calls sort #2 (by a); rank 1: it calls join #2, and has an error: mismatch: no text; rank 2: it calls sort #2 (by b)")
		call = New(c, "sort", []string{"by a", "", "by b"}[c.Rank()])
		call.Refused = c.Rank() == 1
		require.ErrorContains(t, call.Errors(ctx, own), "rank 0: it calls sort #3 (by a)")
		return nil
	})
}

func TestRanks(t *testing.T) {
	for want, list := range map[string][]int{"rank 3": {3}, "ranks 0, 1": {0, 1}, "ranks 0 to 2": {0, 1, 2}, "ranks 0, 2, 3, 5 to 9": {0, 2, 3, 5, 6, 7, 8, 9}} {
		require.Equal(t, want, Ranks(list))
	}
}
