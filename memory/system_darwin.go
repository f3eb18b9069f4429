package memory

import "golang.org/x/sys/unix"

// System gives the bytes of memory of the machine, and how many of them are
// free now; 0 where the system does not tell.
func System() (total, free int64) {
	size, err := unix.SysctlUint64("hw.memsize")
	if err == nil {
		total = int64(size)
	}
	pages, err := unix.SysctlUint32("vm.page_free_count")
	if err == nil {
		free = int64(pages) * int64(unix.Getpagesize())
	}
	return total, free
}
