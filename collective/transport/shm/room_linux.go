package shm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A page of the segment is had before anybody touches it. Where the file system is full the system answers
// a store, or a load, with a signal that ends the process: so what every lane needs is reserved when the
// segment is made, and the rest by the rank that writes there, before it does. Then a file system that is too small is an error.

// ErrRoom is wrapped by errors about a file system of shared memory that is too small.
var ErrRoom = errors.New("too little shared memory")

const (
	reserveStep = 1 << 20   // bytes that are reserved at a time: a signal has the system undo what it was at
	ringStep    = 128 << 10 // by so much a lane's ring grows
)

// reserve has the pages of n bytes of the segment from there on.
func (s *segment) reserve(from, n int) error {
	for end := from + n; from < end; {
		step := min(end-from, reserveStep)
		err := fallocate(s.file, int64(from), int64(step))
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EOPNOTSUPP || err == unix.ENOSYS: // what was free when the segment was made is all that can be known
			return nil
		case err != nil:
			return s.short(n, err)
		}
		from += step
	}
	return nil
}

// fallocate is the system's. Tests have one that fails.
var fallocate = func(f *os.File, from, n int64) error {
	if f == nil {
		return os.ErrClosed
	}
	return unix.Fallocate(int(f.Fd()), 0, from, n)
}

// short says what was asked for and what there is.
func (s *segment) short(n int, err error) error {
	return fmt.Errorf("%w: %s is full: %d ranks need %s more, %s: %w", ErrRoom, filepath.Dir(s.file.Name()), s.n, bytesText(int64(n)), freeText(filepath.Dir(s.file.Name())), err)
}

// free is how many bytes a file system has, and how many of them are free; MaxInt64 where it has no limit or does not say.
func free(dir string) (all, left int64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || fs.Blocks == 0 || fs.Bsize <= 0 || fs.Blocks > uint64(math.MaxInt64/fs.Bsize) {
		return math.MaxInt64, math.MaxInt64
	}
	return int64(fs.Blocks) * fs.Bsize, int64(fs.Bavail) * fs.Bsize
}

func freeText(dir string) string {
	all, left := free(dir)
	if all == math.MaxInt64 {
		return "and what it has free it does not say"
	}
	return fmt.Sprintf("%s of its %s are free", bytesText(left), bytesText(all))
}

// bytesText is a number of bytes for people.
func bytesText(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// fits is the error of a segment that the process, or the file system, has no room for.
func fits(dir string, n int, crowded bool) error {
	length, need := int64(segmentLen(n)), needFor(n, crowded)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && limit.Cur < uint64(length) {
		return fmt.Errorf("%w: a segment for %d ranks is a file of %s, and this process may write files of %s (ulimit -f)",
			ErrRoom, n, bytesText(length), bytesText(int64(limit.Cur)))
	}
	if _, left := free(dir); left < need {
		return fmt.Errorf("%w: %d ranks need %s in %s, %s: give it more (docker run --shm-size), or choose TCP (VOLLEY_TRANSPORT=tcp)",
			ErrRoom, n, bytesText(need), dir, freeText(dir))
	}
	return nil
}

// needFor is how many bytes a group of n ranks that all talk to each other comes to use.
func needFor(n int, crowded bool) int64 {
	lane := int64(coreLen(depthFor(n, crowded)) + chunks*chunk + ringFor(n, crowded))
	own := int64(coreLen(depthFor(n, crowded)) + 2*stageRound)
	return int64(unsafe.Sizeof(head{})) + int64(n)*(int64(unsafe.Sizeof(rankBlock{}))+own) + int64(n)*int64(n-1)*lane
}

// ringFor is how much of a ring its messages come to use, if the reader takes them as they come.
func ringFor(n int, crowded bool) int {
	return min(room, max(cycleFor(n), 9*mediumFor(n, crowded))+longest)
}

// coreLen is the bytes of a lane that are used by whatever messages there are.
func coreLen(depth uint32) int {
	var l lane
	return int(unsafe.Offsetof(l.slots)) + int(depth)*int(unsafe.Sizeof(slot{})) + int(unsafe.Offsetof(l.data)-unsafe.Offsetof(l.notes))
}

// reserveCore has what all ranks look at.
func (s *segment) reserveCore(depth uint32) error {
	var l lane
	if err := s.reserve(0, s.at(0, 0)); err != nil {
		return err
	}
	slots := int(unsafe.Offsetof(l.slots)) + int(depth)*int(unsafe.Sizeof(slot{}))
	notes, data := int(unsafe.Offsetof(l.notes)), int(unsafe.Offsetof(l.data))
	for from := range s.n {
		for to := range s.n {
			at := s.at(from, to)
			if err := errors.Join(s.reserve(at, slots), s.reserve(at+notes, data-notes)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ringTo has the ring of the lane to a rank up to there.
func (e *endpoint) ringTo(to, end int) error {
	at := &e.lanes[to]
	if end <= at.ringHas {
		return nil
	}
	var l lane
	end = min(room, (max(end, ringFor(e.seg.n, e.crowded))+ringStep-1)/ringStep*ringStep)
	if err := e.seg.reserve(e.seg.at(e.rank, to)+int(unsafe.Offsetof(l.ring))+at.ringHas, end-at.ringHas); err != nil {
		return fmt.Errorf("shm: %w", err)
	}
	at.ringHas = end
	return nil
}

// chunksOf has the chunks of the lane to a rank.
func (e *endpoint) chunksOf(at *ends) error {
	if at.chunksHad {
		return nil
	}
	var l lane
	if err := e.seg.reserve(e.seg.at(e.rank, at.rank)+int(unsafe.Offsetof(l.data)), chunks*chunk); err != nil {
		return fmt.Errorf("shm: %w", err)
	}
	at.chunksHad = true
	return nil
}

// helps says whether parts of messages in place may be laid into the chunks: where there is no room
// for those the reader reads all, which is slower and the same.
func (e *endpoint) helps(at *ends) bool {
	if !at.chunksHad && !at.bare {
		at.bare = e.chunksOf(at) != nil
	}
	return at.chunksHad
}

// stageRoom says whether there is room to show results.
func (e *endpoint) stageRoom() bool {
	at := &e.lanes[e.rank]
	if at.ringHas < 2*stageRound {
		var l lane
		if e.seg.reserve(e.seg.at(e.rank, e.rank)+int(unsafe.Offsetof(l.ring)), 2*stageRound) != nil {
			return false // results are written then, which is slower and the same
		}
		at.ringHas = 2 * stageRound
	}
	return true
}
