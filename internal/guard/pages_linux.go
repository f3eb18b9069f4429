package guard

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/memory"
)

// quarantine is how many freed blocks stay unreadable before their addresses
// may be given out again.
const quarantine = 256

// newPages maps every block by itself, between pages that cannot be touched.
func newPages(mode Mode) *Allocator {
	page := int64(os.Getpagesize())
	var freed [][]byte
	get := func(size int64) (memory.Block, func() error, error) {
		padded := memory.Padded(size)
		inner := max(page, (padded+page-1)/page*page)
		m, err := unix.Mmap(-1, 0, int(inner+2*page), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return memory.Block{}, nil, &memory.OutOfMemory{Place: memory.Host, Requested: size, InUse: -1, Limit: -1}
		}
		open := m[page : page+inner]
		if err := unix.Mprotect(open, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			_ = unix.Munmap(m)
			return memory.Block{}, nil, &memory.OutOfMemory{Place: memory.Host, Requested: size, InUse: -1, Limit: -1}
		}
		poison(open)
		from := int64(0)
		if mode == Tail {
			from = inner - padded
		}
		b := memory.Block{Bytes: open[from : from+size : from+padded], Size: size}
		return b, func() error {
			err := around(open[:from], open[from+padded:])
			if e := unix.Madvise(open, unix.MADV_DONTNEED); err == nil {
				err = e
			}
			if e := unix.Mprotect(open, unix.PROT_NONE); err == nil {
				err = e
			}
			freed = append(freed, m)
			if len(freed) > quarantine {
				if e := unix.Munmap(freed[0]); err == nil {
					err = e
				}
				freed = freed[1:]
			}
			return err
		}, nil
	}
	return newAllocator(get, func() error {
		for _, m := range freed {
			if err := unix.Munmap(m); err != nil {
				return err
			}
		}
		freed = nil
		return nil
	})
}
