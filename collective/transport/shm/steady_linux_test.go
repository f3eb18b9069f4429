package shm

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mapped4 is memory of four huge pages' length that begins at one.
func mapped4(t *testing.T) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, 5*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b[-addressOf(b)&(hugePage-1):][:4*hugePage]
}

// A page is asked for when messages have been in it often enough, one a message, again after many more, and none
// any more where the system has refused all.
func TestSteadyAsksForPages(t *testing.T) {
	var asked []uintptr
	s := steady{collapse: func(page uintptr) error { asked = append(asked, page); return nil }}
	all := mapped4(t)
	first, b := addressOf(all), all[4096:3*hugePage+4096]
	for range steadyFrom - 1 {
		s.use(b)
		s.use(b[:steadyLen-1])
	}
	if asked != nil {
		t.Errorf("pages %x were asked for after %d messages", asked, steadyFrom-1)
	}
	for i := range 4 {
		if s.use(b); len(asked) != i+1 {
			t.Errorf("%d pages were asked for with message %d", len(asked), steadyFrom+i)
		}
	}
	for range steadyFrom {
		s.use(b)
	}
	if want := []uintptr{first, first + hugePage, first + 2*hugePage, first + 3*hugePage}; !slices.Equal(asked, want) {
		t.Errorf("pages %x were asked for, not %x", asked, want)
	}
	for range steadyFrom * steadyThen {
		s.use(b)
	}
	if len(asked) != 8 {
		t.Errorf("pages were asked for %d times", len(asked))
	}
	asked, s = nil, steady{collapse: func(page uintptr) error { asked = append(asked, page); return errors.New("no") }}
	for range steadyFrom * steadyThen * steadyThen * steadyThen * steadyThen {
		s.use(b)
	}
	if len(asked) != refusals {
		t.Errorf("%d calls were refused, not %d", len(asked), refusals)
	}
}

// Of a long vector pages are asked for by its length.
func TestSteadyAsksForPagesOfLongVectors(t *testing.T) {
	const pages = 512
	b, err := unix.Mmap(-1, 0, (pages+1)*hugePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	b = b[-addressOf(b)&(hugePage-1):][:pages*hugePage]
	asked := map[uintptr]bool{}
	s := steady{collapse: func(page uintptr) error { asked[page] = true; return nil }}
	for range steadyFrom - 1 {
		s.use(b)
	}
	for i, each := 0, 1+len(b)/steadyEach; len(asked) < pages; i++ {
		s.use(b)
		if want := min(pages, (i+1)*each); len(asked) != want {
			t.Fatalf("%d pages were asked for with message %d, not %d", len(asked), steadyFrom+i, want)
		}
	}
}

// Vectors that are sent and received, or combined into, again and again come into huge pages, where the system puts memory there,
// and keep what they hold.
func TestSteadyVectorsComeIntoHugePages(t *testing.T) {
	for _, combined := range []bool{false, true} {
		testHugePages(t, combined)
	}
}

func testHugePages(t *testing.T, combined bool) {
	probe := mapped4(t)
	probe[0] = 1
	collapse := hugePages()
	given := collapse != nil && collapse(addressOf(probe)) == nil
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	t.Cleanup(func() { a.Close(); b.Close() })
	given = given && b.seg.rank(1).noread.Load() == 0
	from, into := mapped4(t)[100:], mapped4(t)[300:]
	const n = 3 * hugePage
	copy(from, long(n, 1))
	seq := uint64(0)
	send := func(times int) {
		for range times {
			seq++
			deliverTo(t, a, b, seq, from[:n], into[:n], combined)
		}
	}
	send(2 * steadyFrom)
	least := func() int64 { return min(anonymousHuge(t, addressOf(from)), anonymousHuge(t, addressOf(into))) }
	if given && least() < n {
		send(steadyFrom * steadyThen * steadyThen) // the system may have had none at that moment
	}
	if !slices.Equal(into[:n], long(n, 1)) || !slices.Equal(from[:n], long(n, 1)) {
		t.Errorf("combined %v: the vectors hold something else", combined)
	}
	if huge := least(); given && huge < n {
		t.Errorf("combined %v: %d KiB of a vector are in huge pages", combined, huge>>10)
	}
}

// deliverTo has a send a vector to b, which may combine it into its own.
func deliverTo(t *testing.T, a, b *endpoint, seq uint64, from, into []byte, combined bool) {
	t.Helper()
	h := header(seq, len(from))
	done := make(chan error)
	go func() { done <- errors.Join(a.Post(1, &h, from), a.Flush(1)) }()
	want := h
	sink := sinkOf(into)
	if combined {
		sink.Combine = func(off int, part []byte) { copy(into[off:], part) }
	}
	err := b.Recv(0, &want, sink)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
}

// anonymousHuge are the bytes of the mapping at an address that are in huge pages.
func anonymousHuge(t *testing.T, at uintptr) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	n, ok := hugeBytes(strings.NewReader(strings.NewReplacer("ShmemPmdMapped", "Other", "AnonHugePages", "ShmemPmdMapped").Replace(string(text))), at)
	if !ok {
		t.Fatalf("no mapping holds %x", at)
	}
	return n
}
