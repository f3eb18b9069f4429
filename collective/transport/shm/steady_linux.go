package shm

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// The system looks up each page of another process before it copies from it, which for pages of 4 KiB takes
// nearly as long as the copy where that stays in a cache. So memory that long messages are read from or written to in
// place again and again is put into huge pages (MADV_COLLAPSE), where the system has them. Such a call copies what is
// in the page, 0.7 to 1.3 ms: so it is made for memory in steady use only, and once a message at most, or a few times
// where that takes many milliseconds itself.
const (
	hugePage   = 2 << 20
	steadyFrom = 16       // messages after which a page is asked for,
	steadyThen = 8        // and how many times as many each time after that: it may be other memory by then
	steadyLen  = 16 << 10 // bytes of the shortest message that counts
	steadyEach = 16 << 20 // bytes of a message for which one page more is asked for
	steadyMost = 2048     // pages that are remembered
	refusals   = 16       // calls without a success, after which there are no more
)

// steady is the memory that messages in place are in.
type steady struct {
	pages    []steadyPage
	collapse func(page uintptr) error // nil where none is asked for
	refused  int
	had      bool // a call succeeded
}

// steadyPage counts the messages of a page.
type steadyPage struct {
	page       uintptr // its address
	uses, next uint32
}

// use counts a message. Nobody reads or writes the memory for another rank meanwhile but for other
// messages; then the call is refused.
func (s *steady) use(b []byte) {
	if s.collapse == nil || len(b) < steadyLen {
		return
	}
	if s.pages == nil {
		s.pages = make([]steadyPage, steadyMost)
	}
	left, from := 1+len(b)/steadyEach, addressOf(b)
	for page := from &^ (hugePage - 1); page < from+uintptr(len(b)); page += hugePage {
		p := &s.pages[page/hugePage%steadyMost]
		if p.page != page {
			*p = steadyPage{page: page, next: steadyFrom}
		}
		if p.uses++; p.uses < p.next || left == 0 {
			continue
		}
		left--
		p.next *= steadyThen
		if s.collapse(page) == nil {
			s.had = true
		} else if s.refused++; s.refused >= refusals && !s.had {
			s.collapse = nil
			return
		}
	}
}

// hugePages is the call that puts what lies at a page's address into one, or nil where the administrator has turned them
// off, which that call would not heed. It is refused before Linux 6.1, for memory of other kinds, and while
// somebody reads there. What lies beside a vector in the page comes with it, and parts that nobody had touched take
// memory then; no program can see the difference otherwise.
func hugePages() func(page uintptr) error {
	setting, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || bytes.Contains(setting, []byte("[never]")) {
		return nil
	}
	return func(page uintptr) error {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, page, hugePage, unix.MADV_COLLAPSE); errno != 0 {
			return errno
		}
		return nil
	}
}
