package memory

import "golang.org/x/sys/unix"

// hugePage is the size of the pages that a large block asks for.
const hugePage = 2 << 20

// preferHuge asks the system for huge pages inside of b: an access to a random
// place of a large block otherwise costs a walk of the page tables beside the
// miss of the caches. A failure only means small pages.
func preferHuge(b []byte) {
	if pages := wholePages(b, hugePage); len(pages) > 0 {
		_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
	}
}
