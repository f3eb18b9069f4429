package guard

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/memory"
)

// region is how many bytes of addresses are taken from the system at once.
const region = 1 << 28

// addresses is a range that cannot be touched but where a block is out. Blocks
// follow each other, and an address that was given back is not given out again.
type addresses struct {
	bytes []byte
	used  int64
	live  int // blocks that are out
}

// pages cuts blocks out of regions.
type pages struct {
	mode    Mode
	page    int64
	current *addresses
	all     map[*addresses]struct{}
}

// newPages gives every block pages of its own, between pages that cannot be touched.
func newPages(mode Mode) *Allocator {
	p := &pages{mode: mode, page: int64(os.Getpagesize()), all: make(map[*addresses]struct{})}
	return newAllocator(p.get, p.finish)
}

func (p *pages) get(size int64) (memory.Block, func() error, error) {
	padded := memory.Padded(size)
	inner := max(p.page, (padded+p.page-1)/p.page*p.page)
	in, open, err := p.open(inner)
	if err != nil {
		return memory.Block{}, nil, &memory.OutOfMemory{Place: memory.Host, Requested: size, InUse: -1, Limit: -1}
	}
	poison(open)
	from := int64(0)
	if p.mode == Tail {
		from = inner - padded
	}
	b := memory.Block{Bytes: open[from : from+size : from+padded], Size: size}
	return b, func() error {
		err := around(open[:from], open[from+padded:])
		if e := remove(open); err == nil {
			err = e
		}
		in.live--
		if e := p.drop(in); err == nil {
			err = e
		}
		return err
	}, nil
}

// open gives inner bytes that can be touched, with a page before and after that cannot.
func (p *pages) open(inner int64) (*addresses, []byte, error) {
	if p.current == nil || p.current.used+inner+2*p.page > int64(len(p.current.bytes)) {
		m, err := unix.Mmap(-1, 0, int(max(region, inner+2*p.page)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err != nil {
			return nil, nil, err
		}
		before := p.current
		p.current = &addresses{bytes: m}
		p.all[p.current] = struct{}{}
		if before != nil {
			if err := p.drop(before); err != nil {
				return nil, nil, err
			}
		}
	}
	in := p.current
	open := in.bytes[in.used+p.page : in.used+p.page+inner]
	if err := unix.Mprotect(open, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, nil, err
	}
	in.used += inner + p.page
	in.live++
	return in, open, nil
}

// remove gives pages back and leaves their addresses taken, in one call: fresh ones are put in their place that cannot be touched.
func remove(open []byte) error {
	at := unsafe.Pointer(unsafe.SliceData(open))
	_, err := unix.MmapPtr(-1, 0, at, uintptr(len(open)), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED)
	return err
}

// drop gives a region back of which nothing is out and nothing will be.
func (p *pages) drop(in *addresses) error {
	if in.live > 0 || in == p.current {
		return nil
	}
	delete(p.all, in)
	return unix.Munmap(in.bytes)
}

func (p *pages) finish() error {
	for in := range p.all {
		if err := unix.Munmap(in.bytes); err != nil {
			return err
		}
	}
	p.all, p.current = nil, nil
	return nil
}
