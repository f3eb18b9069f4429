package shm

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/transporttest"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

var groups atomic.Int64

// group joins the ranks of a new group in this process.
func group(t *testing.T, n int) []transporttest.End {
	t.Helper()
	name := fmt.Sprintf("%s %d %d", t.Name(), time.Now().UnixNano(), groups.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends := make([]transporttest.End, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() { ends[r].Endpoint, errs[r] = Join(ctx, name, r, n) })
	}
	all.Wait()
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	return ends
}

func TestTransport(t *testing.T) { transporttest.Run(t, group) }

// The same where no rank may read another's memory.
func TestThroughChunks(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
		ends := group(t, n)
		for _, e := range ends {
			own := e.Endpoint.(*endpoint)
			own.seg.rank(own.rank).noread.Store(1)
		}
		return ends
	})
}
