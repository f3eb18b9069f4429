package pmix_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/pmix"
)

// The test program is a rank of a PMIx server's job when this variable is set, to one of the
// modes: see scripts/mpi.sh.
const asRank = "VOLLEY_PMIX_TEST"

var modes = map[string]func(ctx context.Context) error{"work": work, "meet": meet, "once": once, "absent": absent, "again": again}

func TestMain(m *testing.M) {
	mode := os.Getenv(asRank)
	if mode == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	run := modes[mode]
	if run == nil {
		fmt.Fprintf(os.Stderr, "%s=%s is not known\n", asRank, mode)
		os.Exit(2)
	}
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", mode, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work is meet where nothing but PMIx's variables is set.
func work(ctx context.Context) error {
	for _, name := range os.Environ() {
		if strings.HasPrefix(name, "OMPI_") || strings.HasPrefix(name, "PMI_") || strings.HasPrefix(name, "SLURM_") {
			return fmt.Errorf("%s is set: PMIx would not be asked", name)
		}
	}
	return meet(ctx)
}

// meet meets by what the launcher left in the environment, over shared memory and then over
// TCP, and calls.
func meet(ctx context.Context) error {
	var rank, size int
	by := os.Getenv("PMIX_RANK")
	for _, carrier := range []string{"shm", "tcp"} {
		c, err := collective.InitFrom(ctx, func(name string) string {
			if name == "VOLLEY_TRANSPORT" {
				return carrier
			}
			return os.Getenv(name)
		})
		if err != nil {
			return err
		}
		rank, size = c.Rank(), c.Size()
		sum := []int64{int64(rank) + 1}
		if err := c.AllReduce(ctx, collective.Of(sum), collective.Of(sum), collective.Sum); err != nil {
			return err
		}
		if sum[0] != int64(size*(size+1)/2) || by != "" && fmt.Sprint(rank) != by || c.Transport() != carrier {
			return fmt.Errorf("rank %d of %d over %s: the sum is %d", rank, size, c.Transport(), sum[0])
		}
		if err := errors.Join(c.Barrier(ctx), c.Close()); err != nil {
			return err
		}
	}
	fmt.Printf("rank %d of %d works\n", rank, size)
	return nil
}

// once is one meeting by what the launcher left, which takes the ranks to be on several machines, though they find
// themselves on one: a server of PMI is left after it.
func once(ctx context.Context) error {
	c, err := collective.InitFrom(ctx, os.Getenv)
	if err != nil {
		return err
	}
	sum := []int64{int64(c.Rank()) + 1}
	err = c.AllReduce(ctx, collective.Of(sum), collective.Of(sum), collective.Sum)
	if n := int64(c.Size()); err == nil && (sum[0] != n*(n+1)/2 || c.Transport() != "shm") {
		err = fmt.Errorf("rank %d of %d over %s: the sum is %d", c.Rank(), n, c.Transport(), sum[0])
	}
	if err := errors.Join(err, c.Barrier(ctx), c.Close()); err != nil {
		return err
	}
	if _, err := collective.InitFrom(ctx, os.Getenv); err == nil || !strings.Contains(err.Error(), "left the server") {
		return fmt.Errorf("a second meeting: %v", err)
	}
	fmt.Printf("rank %d of %d works\n", c.Rank(), c.Size())
	return nil
}

// again meets many times, each by a new client, and has the cards of this meeting only.
func again(ctx context.Context) error {
	var rank, size int
	for i := range 50 {
		c, err := pmix.Open(ctx, os.Getenv)
		if err != nil {
			return fmt.Errorf("meeting %d: %w", i, err)
		}
		rank, size = c.Rank, c.Size
		cards, err := c.Exchange(ctx, fmt.Append(nil, rank, " ", i))
		if err := errors.Join(err, c.Close(ctx)); err != nil {
			return fmt.Errorf("meeting %d: %w", i, err)
		}
		for r, card := range cards {
			if string(card) != fmt.Sprint(r, " ", i) {
				return fmt.Errorf("meeting %d: rank %d has the card %q of rank %d", i, rank, card, r)
			}
		}
	}
	fmt.Printf("rank %d of %d works\n", rank, size)
	return nil
}

// absent has rank 1 stay away from the meeting, which the others give up in time; they leave
// the server when it has ended the fence, as it was told to.
func absent(ctx context.Context) error {
	c, err := pmix.Open(ctx, os.Getenv)
	if err != nil {
		return err
	}
	if c.Rank == 1 {
		time.Sleep(4 * time.Second)
	} else {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		began := time.Now()
		_, err = c.Exchange(limited, nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "PMIx_Fence waited for all") || time.Since(began) > 3*time.Second {
			return fmt.Errorf("without rank 1, after %v: %w", time.Since(began), err)
		}
		err = nil
	}
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return err
	}
	fmt.Printf("rank %d of %d survives\n", c.Rank, c.Size)
	return nil
}
