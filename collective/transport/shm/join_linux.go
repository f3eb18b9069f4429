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
// processes of the same user can join.
func Join(ctx context.Context, name string, rank, size int) (transport.Endpoint, error) {
	if size < 1 || rank < 0 || rank >= size {
		return nil, fmt.Errorf("shm: rank %d of %d ranks", rank, size)
	}
	s, err := open(ctx, name, rank, size)
	if err != nil {
		return nil, err
	}
	e := newEndpoint(s, name, rank)
	if err := e.meet(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
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
	return filepath.Join(dir, fmt.Sprintf("volley-%d-%x", os.Getuid(), h.Sum(nil)))
}

func token(name string) (t [40]byte) {
	copy(t[:], name[max(0, len(name)-len(t)):])
	return t
}

// open makes the segment, as rank 0, or waits until it is there.
func open(ctx context.Context, name string, rank, size int) (*segment, error) {
	file := path(name)
	if rank == 0 {
		return create(file, name, size)
	}
	var last error
	for {
		s, err := attach(file, name, size)
		if err == nil {
			return s, nil
		}
		last = err
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
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return nil, fmt.Errorf("shm: %w", err)
	}
	defer f.Close()
	s, err := mapped(f, size, true)
	if err == nil {
		h := s.head()
		h.token, h.size = token(name), int64(size)
		h.magic.Store(magic)
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("shm: %w", err), os.Remove(f.Name()))
	}
	return s, nil
}

func attach(file, name string, size int) (*segment, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s is another user's, %d", file, of.Uid)
	}
	if info.Size() != int64(segmentLen(size)) {
		return nil, fmt.Errorf("%s is of a group of another size than %d", file, size)
	}
	s, err := mapped(f, size, false)
	if err != nil {
		return nil, err
	}
	h := s.head()
	if h.magic.Load() != magic || h.token != token(name) || h.size != int64(size) || h.joined.Load() >= int64(size) {
		return nil, errors.Join(fmt.Errorf("%s is not this group's", file), unix.Munmap(s.bytes))
	}
	return s, nil
}

func mapped(f *os.File, size int, grow bool) (*segment, error) {
	n := segmentLen(size)
	if grow {
		if err := f.Truncate(int64(n)); err != nil {
			return nil, err
		}
	}
	b, err := unix.Mmap(int(f.Fd()), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	preferHuge(b)
	return &segment{bytes: b, n: size}, nil
}

// meet shows this rank to the others and waits until all are there; then the file
// is not needed any more.
func (e *endpoint) meet(ctx context.Context) error {
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
	for e.seg.head().joined.Load() < int64(e.seg.n) {
		select {
		case <-ctx.Done():
			var missing []string
			for r := range e.seg.n {
				if e.seg.rank(r).pid.Load() == 0 {
					missing = append(missing, fmt.Sprint(r))
				}
			}
			if e.rank == 0 {
				_ = os.Remove(path(e.name))
			}
			return fmt.Errorf("shm: %w: missing ranks %s of %d", context.Cause(ctx), strings.Join(missing, ", "), e.seg.n)
		case <-time.After(200 * time.Microsecond):
		}
	}
	if e.rank == 0 {
		if err := os.Remove(path(e.name)); err != nil {
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
	if err := e.settle(ctx); err != nil {
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
func (e *endpoint) settle(ctx context.Context) error {
	h := e.seg.head()
	h.joined.Add(1)
	for h.joined.Load() < 2*int64(e.seg.n) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("shm: %w", context.Cause(ctx))
		case <-time.After(50 * time.Microsecond):
		}
	}
	return nil
}
