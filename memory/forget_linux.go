package memory

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget gives the pages inside of b back to the system; they read as zeros
// from then on. A failure only means that they stay.
func forget(b []byte) {
	if pages := wholePages(b, os.Getpagesize()); len(pages) > 0 {
		_ = unix.Madvise(pages, unix.MADV_DONTNEED)
	}
}
