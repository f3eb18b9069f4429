package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// Options are the settings of Join; all ranks give the same.
type Options struct {
	// Library is the MPI library to load, a path or a name for the system's search. Empty
	// is what VOLLEY_MPI_LIBRARY names, else the first of the usual names that serves. The
	// first Join of a process decides.
	Library string
	// Name tells groups apart where a process joins several times.
	Name string
}

// process is this process's site, from the first Join that finds a library.
var process struct {
	sync.Mutex
	site *site
}

// Join makes this rank's end of the group of all ranks of the MPI job, and returns when
// all have come. The first one starts MPI, unless the program has: then it must have
// asked for MPI_THREAD_MULTIPLE. World is what rendezvous.Environment says, which must
// agree with MPI; the zero World takes MPI's word. Its Address is empty or mpi://.
//
// Finalize ends MPI, and must be called before the program ends. The job has the ranks
// that it was started with: who wants to Grow a Comm needs another transport.
func Join(ctx context.Context, w rendezvous.World, o Options) (transport.Endpoint, error) {
	if w.Address != "" && w.Address != rendezvous.MPI {
		return nil, fmt.Errorf("mpi: the ranks meet by the launcher, not at %s: give %s", w.Address, rendezvous.MPI)
	}
	process.Lock()
	if process.site == nil {
		d, err := load(o.Library, os.Getenv)
		if err != nil {
			process.Unlock()
			return nil, fmt.Errorf("mpi: %w", err)
		}
		process.site = newSite(d)
	}
	s := process.site
	process.Unlock()
	return s.join(ctx, w, o.Name)
}

func (s *site) join(ctx context.Context, w rendezvous.World, name string) (*endpoint, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		if !s.started() {
			return nil, fmt.Errorf("mpi: starting %s, which waits for all ranks of the job: %w", s.d.library, context.Cause(ctx))
		}
	}
	if s.failure != nil {
		return nil, fmt.Errorf("mpi: starting %s: %w", s.d.library, s.failure)
	}
	if w.Size != 0 && (w.Rank != s.rank || w.Size != s.size) {
		return nil, fmt.Errorf("mpi: %s says that this is rank %d of %d, and the environment rank %d of %d: it is not the launcher's library, or the variables are another job's",
			s.d.library, s.rank, s.size, w.Rank, w.Size)
	}
	members := make([]int, s.size)
	for r := range members {
		members[r] = r
	}
	return s.meet(ctx, "world "+name, members)
}

// started says that MPI has, or has failed to.
func (s *site) started() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// meet makes an end of a group and waits until all members have said by which tag they
// can be reached.
func (s *site) meet(ctx context.Context, name string, members []int) (*endpoint, error) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return nil, errOver
	}
	if s.nextTag > s.topTag {
		s.mu.Unlock()
		return nil, fmt.Errorf("mpi: %d groups were made, which are as many as %s has tags for", s.nextTag-1, s.d.library)
	}
	e := s.newEndpoint(name, members)
	k := keyOf(name)
	for _, m := range members {
		if m == s.rank {
			continue
		}
		if err := s.tell(m, &control{kind: hello, tag: e.tag, key: k}); err != nil {
			s.cancel(e, k)
			s.mu.Unlock()
			return nil, err
		}
	}
	s.mu.Unlock()
	for wait := (pauses{}); ; wait.next() {
		s.mu.Lock()
		s.progress()
		missing, err := s.greeted(e, k)
		if err == nil && len(missing) > 0 && ctx.Err() != nil {
			err = fmt.Errorf("mpi: %w: missing ranks %s of %d", context.Cause(ctx), strings.Join(missing, ", "), len(members))
		}
		if err != nil {
			s.cancel(e, k)
		}
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			return e, nil
		}
	}
}

// greeted takes the hellos when all are there; else it names the members whose is not.
func (s *site) greeted(e *endpoint, k key) (missing []string, err error) {
	for i, l := range e.lanes {
		if i == e.rank {
			continue
		}
		if _, ok := s.hellos[greeting{k, l.peer}]; !ok {
			if s.gone[l.peer] != nil {
				return nil, &Lost{i, s.gone[l.peer]}
			}
			missing = append(missing, fmt.Sprint(i))
		}
	}
	if len(missing) > 0 {
		return missing, nil
	}
	for i := range e.lanes {
		if i != e.rank {
			g := greeting{k, e.lanes[i].peer}
			e.lanes[i].tag = s.hellos[g]
			delete(s.hellos, g)
		}
	}
	return nil, nil
}

// cancel takes the hellos of a group back that does not come about. Whoever has all of
// them already hears that this rank has left.
func (s *site) cancel(e *endpoint, k key) {
	for i := range e.lanes {
		if l := &e.lanes[i]; i != e.rank && s.gone[l.peer] == nil {
			// An error is of a rank that is gone, and needs not be told.
			_ = s.tell(l.peer, &control{kind: recant, tag: e.tag, key: k})
		}
	}
	delete(s.ends, e.tag)
	e.box.Close()
	s.trash = append(s.trash, e.tag)
	s.trash = s.trash[max(0, len(s.trash)-maxTrash):]
}

// maxTrash bounds the tags of such groups that are looked at: whoever had met this rank
// hears at once that it has left.
const maxTrash = 16

// errOver is what Join and Split return after Finalize.
var errOver = errors.New("mpi: MPI has been ended, and does not start again")

// errOpen is what Finalize says of a group that was not left.
var errOpen = errors.New("mpi: Finalize before all ends were closed")

// Finalize ends MPI in this process, after all its ends were closed: it waits until the
// other ranks have left their groups too, and calls MPI_Finalize, which waits for all
// ranks of the job. After it there is no Join any more. Where MPI was started by others
// they end it. Without a Join it does nothing. When ctx ends first, for example since a
// rank has died, its cause is in the error, and the launcher may call the job failed.
func Finalize(ctx context.Context) error {
	process.Lock()
	s := process.site
	process.Unlock()
	if s == nil {
		return nil
	}
	return s.finalize(ctx)
}

func (s *site) finalize(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		if !s.started() {
			return fmt.Errorf("mpi: %s has not started: %w", s.d.library, context.Cause(ctx))
		}
	}
	for wait := (pauses{}); s.failure == nil; wait.next() {
		s.mu.Lock()
		left, open := len(s.flights)+len(s.ends), false
		for _, e := range s.ends {
			open = open || !e.closed
		}
		if !open && left == 0 && !s.over {
			s.over = true
			close(s.end)
		}
		s.mu.Unlock()
		if open {
			return errOpen
		}
		if left == 0 {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("mpi: waiting for the other ranks to leave: %w", context.Cause(ctx))
		}
	}
	select {
	case <-s.ended:
		return s.endErr
	case <-ctx.Done():
		select {
		case <-s.ended:
			return s.endErr
		default:
		}
		return fmt.Errorf("mpi: MPI_Finalize waits for all ranks of the job: %w", context.Cause(ctx))
	}
}
