package mixed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/shm"
)

// memory puts another join in the place of shared memory's.
func memory(t *testing.T, join func(ctx context.Context, name string, rank, size int) (transport.Endpoint, error)) {
	t.Cleanup(func() { joinMemory = shm.Join })
	joinMemory = join
}

// Where one of a machine's ranks cannot use its memory, none of them does, and all say why; the
// ranks of another machine use theirs.
func TestNearRanksStayTogether(t *testing.T) {
	if !onLinux {
		return
	}
	for _, fails := range []int{0, 1, 2} {
		memory(t, func(ctx context.Context, name string, rank, size int) (transport.Endpoint, error) {
			if rank == fails && size == 3 {
				return nil, errors.New("there is no room")
			}
			return shm.Join(ctx, name, rank, size)
		})
		const machines = "abaab"
		failed := []int{0, 2, 3}[fails]
		ends := open(t, machines, nil)
		for r, e := range ends {
			text := e.(transport.Describer).Describe()
			want := "over TCP to all, since shared memory could not be had: rank " + string(rune('0'+failed)) + ": there is no room"
			if machines[r] == 'b' {
				want = "through shared memory"
			}
			if e.Name() != Name || !strings.Contains(text, want) {
				t.Errorf("rank %d over %s says %q, want %q", r, e.Name(), text, want)
			}
		}
		each(t, []transport.Endpoint{ends[0], ends[2]}, func(e transport.Endpoint) error {
			other := 2 - e.Rank()
			if err := e.Post(other, header(8, 1), make([]byte, 8)); err != nil {
				return err
			}
			if err := e.Signal(other, []byte("volley near: what looks like a word to the council")); err != nil {
				return err
			}
			if n, err := next(e); err != nil || n.From != other || n.Err != nil {
				return errors.Join(err, errors.New("no note came"))
			}
			return errors.Join(e.Recv(other, header(8, 1), &transport.Sink{Into: make([]byte, 8)}), e.Flush(other))
		})
		if err := ends[3].Close(); err != nil {
			t.Error(err)
		}
		for _, r := range []int{0, 1, 2, 4} {
			if n, err := next(ends[r]); err != nil || n.From != 3 || !errors.Is(n.Err, transport.ErrLeft) {
				t.Errorf("rank %d hears %+v, %v of rank 3, which has left", r, n, err)
			}
		}
	}
}

// Who was lost before it has said anything is named, by its number among those that split: a
// council of survivors goes by that. Ranks that are not near it go on.
func TestLostInTheCouncil(t *testing.T) {
	if !onLinux {
		return
	}
	ends := open(t, "abbbc", nil)
	members := []int{4, 1, 3, 2}
	some := make([]transport.Endpoint, len(members))
	for i, m := range members {
		some[i] = ends[m]
	}
	each(t, some, func(e transport.Endpoint) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		s, err := e.(*endpoint).far.Split(ctx, "some", members)
		if err != nil {
			return err
		}
		if e.Rank() == 2 {
			return s.Close()
		}
		whole, err := attach(ctx, s.(far), members)
		if e.Rank() == 4 {
			if err != nil {
				return err
			}
			return whole.Close()
		}
		var gone *transport.Absent
		if !errors.As(err, &gone) || gone.Rank != 2 || whole != nil || ctx.Err() != nil {
			return fmt.Errorf("without rank 2: %w", err)
		}
		return nil
	})
}

// Who waits in vain for a rank that does not come to shared memory hears so when its context
// ends, and leaves nothing behind.
func TestNobodyComes(t *testing.T) {
	if !onLinux {
		return
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	entered, release := make(chan struct{}), make(chan struct{})
	memory(t, func(ctx context.Context, name string, rank, size int) (transport.Endpoint, error) {
		if rank == 1 {
			close(entered)
			<-release // stopped: it heeds nothing
			return shm.Join(ctx, name, rank, size)
		}
		<-entered
		time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
		defer time.AfterFunc(200*time.Millisecond, func() { close(release) })
		return shm.Join(ctx, name, rank, size)
	})
	before := runtime.NumGoroutine()
	ends, errs := joinAll(ctx, filepath.Join(t.TempDir(), "meeting"), "aab", nil)
	for r := range 2 {
		if !errors.Is(errs[r], why) || ends[r] != nil {
			t.Errorf("rank %d: %v", r, errs[r])
		}
	}
	if err := errs[0]; err == nil || !strings.Contains(err.Error(), "[1]") {
		t.Errorf("rank 0 names nobody: %v", err)
	}
	if errs[2] == nil {
		if err := ends[2].Close(); err != nil {
			t.Error(err)
		}
	}
	for end := time.Now().Add(limit); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}
