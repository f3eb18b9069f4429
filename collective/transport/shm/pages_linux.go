package shm

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugeMost is the longest segment that asks for huge pages: with many ranks most lanes
// are never touched, and would take a huge page each all the same.
const hugeMost = 64 << 20

// preferHuge asks for huge pages, which a copy through the chunks is faster in. The system
// gives them where the mount of /dev/shm says huge=advise, or more. A failure only means
// small pages.
func preferHuge(b []byte) {
	if len(b) <= hugeMost {
		_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	}
}

// forget gives the segment's memory back, while somebody may still look at it: the addresses stay, as private zeros that
// take no memory. A failure leaves the mapping.
func (s *segment) forget() {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_FIXED | unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	_, _ = unix.MmapPtr(-1, 0, unsafe.Pointer(unsafe.SliceData(s.bytes)), uintptr(len(s.bytes)), protection, flags)
	_ = s.file.Close() // it was only reserved through
}

// release gives the addresses back too: nobody looks any more.
func (s *segment) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	_ = unix.Munmap(s.bytes) // of what the system mapped it cannot fail
	_ = s.file.Close()
}

// Release gives the addresses of the segment back, of which every group has some MiB for each pair of ranks. It comes after Close, and
// no other call is running or will come, but for those that any goroutine may make.
func (e *endpoint) Release() {
	if e.later == nil { // it was not closed
		return
	}
	for r := range e.lanes {
		e.lanes[r].pumps.Wait() // the stop has ended them
	}
	e.mu.Lock() // of Describe, and of splits that look at this group
	defer e.mu.Unlock()
	e.later.Stop()
	e.seg.release()
}

// Describe says which way long messages take and what pages the segment has.
func (e *endpoint) Describe() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return "shared memory, which this rank has left"
	}
	way := "in place or, where that is found to be faster, through the segment"
	for r := range e.seg.n {
		if e.seg.rank(r).noread.Load() != 0 {
			way = "through the segment, since the system does not let all ranks read each other's memory"
		}
	}
	for r := range e.seg.n {
		if e.pushes(r) {
			way += ", and written by senders that wait"
			break
		}
	}
	pages := "the system does not say in what pages"
	if f, err := os.Open("/proc/self/smaps"); err == nil {
		defer f.Close()
		if n, ok := hugeBytes(f, uintptr(unsafe.Pointer(&e.seg.bytes[0]))); ok && n == 0 {
			pages = "none of it in huge pages"
		} else if ok {
			pages = fmt.Sprintf("%d MiB of it in huge pages", n>>20)
		}
	}
	return fmt.Sprintf("shared memory: messages above %d KiB are read %s; the segment has %d MiB, %s", e.medium>>10, way, len(e.seg.bytes)>>20, pages)
}

// hugeBytes are those of a mapping, by the text of smaps, that huge pages hold; ok says
// that it tells.
func hugeBytes(smaps io.Reader, at uintptr) (n int64, ok bool) {
	lines, here := bufio.NewScanner(smaps), false
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if from, to, is := strings.Cut(strings.Fields(lines.Text() + " .")[0], "-"); is {
			a, err1 := strconv.ParseUint(from, 16, 64)
			b, err2 := strconv.ParseUint(to, 16, 64)
			if err1 == nil && err2 == nil {
				here = uint64(at) >= a && uint64(at) < b
				continue
			}
		}
		if here && (key == "ShmemPmdMapped" || key == "FilePmdMapped") {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, false
			}
			n, ok = n+kib<<10, true
		}
	}
	return n, ok && lines.Err() == nil
}
