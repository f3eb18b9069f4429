package shm

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// Join makes rank's end of a group of size processes on this machine, and returns
// when all have come. They name the group alike: name tells it from every other
// group of this machine, so launchers make it of their own world's name. Only
// processes of the same user can join. It fails with ErrRoom where the file system of shared memory is too small.
// Ranks that can tell each other more before had better make an Offer.
func Join(ctx context.Context, name string, rank, size int) (transport.Endpoint, error) {
	return join(ctx, name, rank, size, &company{})
}

func join(ctx context.Context, name string, rank, size int, with *company) (transport.Endpoint, error) {
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("shm: rank %d of %d ranks", rank, size)
	}
	s, err := open(ctx, name, rank, size, with)
	if err != nil {
		return nil, err
	}
	return s.join(ctx, name, rank, with)
}

// join makes a rank's end of a group whose segment is there.
func (s *segment) join(ctx context.Context, name string, rank int, with *company) (transport.Endpoint, error) {
	e := newEndpoint(s, name, rank)
	if err := e.meet(ctx, with); err != nil {
		s.withdraw(path(name))
		err = errors.Join(err, e.Close())
		e.Release()
		return nil, err
	}
	return e, nil
}

// path is where a group's segment lies: memory, not a disk.
func path(name string) string {
	h := fnv.New128a()
	h.Write([]byte(name))
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, fmt.Sprintf("%s%x", fileMark(), h.Sum(nil)))
}

// fileMark begins the names of this user's segments.
func fileMark() string { return fmt.Sprintf("volley-%d-", os.Getuid()) }

func token(name string) (t [40]byte) {
	copy(t[:], name[max(0, len(name)-len(t)):])
	return t
}

// open makes the segment, as rank 0, or waits until it is there.
func open(ctx context.Context, name string, rank, size int, with *company) (*segment, error) {
	file := path(name)
	if rank == 0 {
		return create(file, name, size)
	}
	var last error
	watch := watch{with: with}
	for {
		s, err := attach(file, name, size)
		if err == nil {
			return s, nil
		}
		last = err
		if err := watch.look(); err != nil {
			return nil, fmt.Errorf("shm: rank %d waits for rank 0: %w (%w)", rank, err, last)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("shm: rank %d waits for rank 0: %w (%w)", rank, context.Cause(ctx), last)
		case <-time.After(time.Millisecond):
		}
	}
}

// create makes a new segment beside what a group of this name may have left, and
// puts it in that one's place.
func create(file, name string, size int) (*segment, error) {
	crowded := isCrowded(size)
	sweep(filepath.Dir(file))
	if err := fits(filepath.Dir(file), size, crowded); err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil { // as long as somebody has it, nobody sweeps it
		return nil, errors.Join(fmt.Errorf("shm: %w", err), f.Close(), os.Remove(f.Name()))
	}
	s, err := made(f, name, size, crowded)
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		if s != nil {
			s.release()
		}
		return nil, errors.Join(fmt.Errorf("shm: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return s, nil
}

// sweep removes segments of this user's that nobody has open: of ranks that were killed before all had come.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // creating a file there says why
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), fileMark()) && time.Since(info.ModTime()) > abandoned {
			sweepFile(filepath.Join(dir, e.Name()))
		}
	}
}

// abandoned is how old a file without an owner is at the least.
const abandoned = 10 * time.Minute

func sweepFile(file string) {
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return // another rank has swept it
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(file)
	}
}

// made is a segment in a new file.
func made(f *os.File, name string, size int, crowded bool) (*segment, error) {
	if err := f.Truncate(int64(segmentLen(size))); err != nil {
		return nil, err
	}
	if err := (&segment{n: size, file: f}).reserveCore(depthFor(size, crowded)); err != nil {
		return nil, err
	}
	s, err := mapped(f, size)
	if err != nil {
		return nil, err
	}
	h := s.head()
	h.token, h.size = token(name), int64(size)
	h.magic.Store(magic)
	return s, nil
}

func attach(file, name string, size int) (*segment, error) {
	f, err := os.OpenFile(file, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	s, err := attached(f, name, size)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", file, err), f.Close())
	}
	return s, nil
}

// attached is a segment that rank 0 has made, after it has been seen that it is this group's.
func attached(f *os.File, name string, size int) (*segment, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Getuid() {
		return nil, fmt.Errorf("is another user's, %d", of.Uid)
	}
	if info.Size() != int64(segmentLen(size)) {
		return nil, fmt.Errorf("is of a group of another size than %d", size)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("is being swept away: %w", err)
	}
	s, err := mapped(f, size)
	if err != nil {
		return nil, fmt.Errorf("cannot be mapped: %w", err)
	}
	h := s.head()
	if h.magic.Load() != magic || h.token != token(name) || h.size != int64(size) || h.joined.Load() >= int64(size) {
		return nil, errors.Join(errors.New("is not this group's"), unix.Munmap(s.bytes))
	}
	return s, nil
}

// withdraw takes the file away, if it is this group's, so that who waits for this rank does not wait on.
func (s *segment) withdraw(file string) {
	own, err := s.file.Stat()
	named, err2 := os.Lstat(file)
	if err == nil && err2 == nil && os.SameFile(own, named) {
		_ = os.Remove(file) // or another rank has just done so
	}
}

func mapped(f *os.File, size int) (*segment, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, segmentLen(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	preferHuge(b)
	return &segment{bytes: b, n: size, file: f}, nil
}

// meet shows this rank to the others and waits until all are there; then the file
// is not needed any more.
func (e *endpoint) meet(ctx context.Context, with *company) error {
	own := e.seg.rank(e.rank)
	permitReads()
	if e.crowded || !heedFences() {
		own.fenced.Store(1)
	}
	born, _ := bornAt(os.Getpid())
	own.born.Store(born)
	own.probe.Store(uint64(uintptr(unsafe.Pointer(&own.tried))))
	own.pid.Store(int64(os.Getpid()))
	e.seg.head().joined.Add(1)
	if err := e.gather(ctx, with, int64(e.seg.n), 200*time.Microsecond); err != nil {
		return err
	}
	if e.rank == 0 {
		if err := os.Remove(path(e.name)); err != nil && !errors.Is(err, os.ErrNotExist) { // a rank that has given up since has removed it
			return fmt.Errorf("shm: %w", err)
		}
	}
	own.shared.Store(1)
	own.merges.Store(1)
	for r := range e.seg.n {
		other := e.seg.rank(r)
		pid, probe := int(other.pid.Load()), other.probe.Load()
		if !readable(pid, probe) {
			own.noread.Store(1)
			own.merges.Store(0)
		}
		if !writable(pid, probe) || !watchable(pid) {
			own.merges.Store(0)
		}
		if e.crowded || own.merges.Load() == 0 {
			own.shared.Store(0)
		}
	}
	if err := e.settle(ctx, with); err != nil {
		return err
	}
	e.exchange.open = true
	for r := range e.seg.n {
		e.exchange.open = e.exchange.open && e.seg.rank(r).noread.Load() == 0
	}
	for r := range e.seg.n {
		e.lanes[r].pushes = e.pushes(r)
		if r != e.rank && e.seg.rank(r).merges.Load() != 0 {
			e.lanes[r].in.door.open()
		}
	}
	for r := range e.seg.n {
		if e.seg.rank(r).fenced.Load() != 0 {
			return nil
		}
	}
	e.fenced = false
	return nil
}

// settle waits until all ranks know what they may read.
func (e *endpoint) settle(ctx context.Context, with *company) error {
	e.seg.head().joined.Add(1)
	return e.gather(ctx, with, 2*int64(e.seg.n), 50*time.Microsecond)
}
