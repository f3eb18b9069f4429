package shm

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// The system looks each page of another process up before it copies, which in pages of 4 KiB costs as much as
// the copy where that stays in the caches. So memory that long messages are read from or
// written to again and again is put into huge pages, one of them a message, where the system has them.
const (
	hugePage   = 2 << 20
	steadyFrom = 16       // messages after which a page is asked for,
	steadyThen = 8        // and how many times as many each time after that: the memory may be another by then
	steadyLen  = 16 << 10 // bytes of the shortest message that counts
	steadyMost = 256      // pages that are remembered
	refusals   = 16       // without a success, after which nothing is asked for any more
)

// steady is the memory that messages in place are in.
type steady struct {
	pages    [steadyMost]steadyPage
	collapse func(page uintptr) error // nil where the system has no huge pages, or gives none
	refused  int
}

type steadyPage struct {
	page       uintptr // its address
	uses, next uint32
}

// use counts a message, and asks for one page at most.
func (s *steady) use(b []byte) {
	if s.collapse == nil || len(b) < steadyLen {
		return
	}
	from, asked := addressOf(b), false
	for page := from &^ (hugePage - 1); page < from+uintptr(len(b)); page += hugePage {
		p := &s.pages[page/hugePage%steadyMost]
		if p.page != page {
			*p = steadyPage{page: page, next: steadyFrom}
		}
		if p.uses++; p.uses < p.next || asked {
			continue
		}
		asked = true
		p.next *= steadyThen
		if err := s.collapse(page); err == nil {
			s.refused = -1 << 30
		} else if s.refused++; s.refused >= refusals {
			s.collapse = nil
			return
		}
	}
}

// hugePages is what puts memory into a huge page, or nil where the system's administrator wants none. The call
// is there since Linux 6.1. It moves what lies around the vector too, which nobody notices, and takes memory for what was never touched.
func hugePages() func(page uintptr) error {
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || bytes.Contains(setting, []byte("[never]")) {
		return nil
	}
	return func(page uintptr) error {
		// Another process that is in the middle of a read has it refused.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, page, hugePage, unix.MADV_COLLAPSE); errno != 0 {
			return errno
		}
		return nil
	}
}
