package memory

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget tells the system that it may take the pages inside of b; until it does
// they keep their bytes. A failure only means that they stay.
func forget(b []byte) {
	if pages := wholePages(b, os.Getpagesize()); len(pages) > 0 {
		_ = unix.Madvise(pages, unix.MADV_FREE)
	}
}
