package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// refuse has the system refuse reservations for which this says so, as a full file system does.
func refuse(t *testing.T, when func(n int64) bool) {
	t.Helper()
	real := fallocate
	var mu sync.Mutex
	fallocate = func(f *os.File, from, n int64) error {
		mu.Lock()
		defer mu.Unlock()
		if when(n) {
			return unix.ENOSPC
		}
		return real(f, from, n)
	}
	t.Cleanup(func() { fallocate = real })
}

// A segment that the file system has no pages for is an error that says how much is asked for and how much there is.
func TestNoRoomForASegment(t *testing.T) {
	refuse(t, func(int64) bool { return true })
	dir := t.TempDir()
	_, err := create(filepath.Join(dir, "segment"), "group", 4)
	if !errors.Is(err, ErrRoom) || !strings.Contains(err.Error(), "KiB more") || !strings.Contains(err.Error(), "are free") {
		t.Errorf("create: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v behind: %v", left, err)
	}
}

// Nothing that a lane may touch is touched without having been reserved: after all that a transport does the file has no
// more pages than were asked for.
func TestOnlyWhatIsReservedIsTouched(t *testing.T) {
	var mu sync.Mutex
	reserved := map[string]map[int64]bool{}
	real := fallocate
	fallocate = func(f *os.File, from, n int64) error {
		mu.Lock()
		defer mu.Unlock()
		pages := reserved[inode(t, f)]
		if pages == nil {
			pages = map[int64]bool{}
			reserved[inode(t, f)] = pages
		}
		for p := from / 4096; p <= (from+n-1)/4096; p++ {
			pages[p] = true
		}
		return real(f, from, n)
	}
	t.Cleanup(func() { fallocate = real })
	for name, unread := range map[string]uint32{"in place": 0, "through chunks": 1} {
		t.Run(name, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
				ends := group(t, n)
				for _, e := range ends {
					own := e.Endpoint.(*endpoint)
					own.seg.rank(own.rank).noread.Store(unread)
				}
				own := ends[0].Endpoint.(*endpoint)
				f, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", own.seg.file.Fd()))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					defer f.Close()
					var s unix.Stat_t
					if err := unix.Fstat(int(f.Fd()), &s); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					if asked := int64(len(reserved[inode(t, f)])); s.Blocks/8 > asked {
						t.Errorf("%d ranks: %d pages of the segment are there, %d were reserved", n, s.Blocks/8, asked)
					}
				})
				return ends
			})
		})
	}
}

func inode(t *testing.T, f *os.File) string {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		t.Error(err)
	}
	return fmt.Sprint(s.Dev, s.Ino)
}

// Where the rest of a segment cannot be had, what needs it is an error, and what can do without it does.
func TestNoRoomLater(t *testing.T) {
	send := func(t *testing.T, ends []transporttest.End, n int) error {
		t.Helper()
		data, got := make([]byte, n), make([]byte, n)
		for i := range data {
			data[i] = byte(i * 7)
		}
		h := &transport.Header{Seq: 1, Len: int64(n)}
		done := make(chan error, 1)
		want := *h
		go func() { done <- ends[1].Recv(0, &want, &transport.Sink{Into: got}) }()
		err := ends[0].Post(1, h, data)
		if err == nil {
			err = ends[0].Flush(1)
		}
		if err != nil {
			return err
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if string(got) != string(data) {
			t.Errorf("%d bytes come wrong", n)
		}
		return nil
	}
	t.Run("ring", func(t *testing.T) {
		ends := group(t, 2)
		refuse(t, func(int64) bool { return true })
		if err := send(t, ends, inline+1); !errors.Is(err, ErrRoom) {
			t.Errorf("a message through the ring: %v", err)
		}
		ends[1].Interrupt(errors.New("the test is over"))
	})
	t.Run("chunks in place", func(t *testing.T) {
		ends := group(t, 2)
		refuse(t, func(int64) bool { return true })
		for range 3 {
			if err := send(t, ends, 3<<20); err != nil {
				t.Errorf("a message that is read in place: %v", err)
			}
		}
		if !ends[0].Endpoint.(*endpoint).lanes[1].bare {
			t.Error("chunks were never tried: nothing is shown")
		}
	})
	t.Run("chunks alone", func(t *testing.T) {
		ends := group(t, 2)
		ends[1].Endpoint.(*endpoint).seg.rank(1).noread.Store(1)
		refuse(t, func(int64) bool { return true })
		if err := send(t, ends, 3<<20); !errors.Is(err, ErrRoom) {
			t.Errorf("a message through the chunks: %v", err)
		}
		ends[1].Interrupt(errors.New("the test is over"))
	})
}

// What is asked of the file system beforehand grows with the ranks, and covers what they come to use at the least.
func TestNeed(t *testing.T) {
	for n := 2; n <= 64; n++ {
		for _, crowded := range []bool{false, true} {
			need, core := needFor(n, crowded), int64(n*n*coreLen(depthFor(n, crowded)))
			if need < core+int64(n*(n-1)*chunks*chunk) || need > int64(segmentLen(n)) {
				t.Errorf("%d ranks, crowded %v: %d bytes of a segment of %d", n, crowded, need, segmentLen(n))
			}
		}
	}
	if _, left := free("/nowhere"); left <= 0 {
		t.Errorf("of what is not there %d bytes are free", left)
	}
}

// A limit of the length of files is found before the system ends the process for it.
func TestFileLimit(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestFileLimitHere$", "-test.v")
	cmd.Env = append(os.Environ(), "VOLLEY_SHM_FILE_LIMIT=51200")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "50 KiB (ulimit -f)") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFileLimitHere is TestFileLimit's process; by itself it has no limit to meet.
func TestFileLimitHere(t *testing.T) {
	if os.Getenv("VOLLEY_SHM_FILE_LIMIT") != "" {
		limit := unix.Rlimit{Cur: 51200, Max: 51200}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		_, err := create(filepath.Join(t.TempDir(), "segment"), "group", 2)
		if !errors.Is(err, ErrRoom) {
			t.Fatalf("create: %v", err)
		}
		fmt.Println(err)
		return
	}
	s, err := create(filepath.Join(t.TempDir(), "segment"), "group", 2)
	if err != nil {
		t.Fatal(err)
	}
	s.release()
}

// A rank that cannot join is known to all from its card: none waits, and all have the same error, which names it.
func TestOfferOfWhoCannot(t *testing.T) {
	refuse(t, func(int64) bool { return true })
	offers := []*Offer{NewOffer(0, 3), NewOffer(1, 3), NewOffer(2, 3)}
	var cards [][]byte
	for _, o := range offers {
		cards = append(cards, o.Card())
	}
	for r, o := range offers {
		_, err := o.Join(context.Background(), cards)
		if !errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "rank 0 cannot join") || !strings.Contains(err.Error(), "are free") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A rank whose process ends between the meeting and the segment, or while ranks settle, is named at once.
func TestOfferOfTheDead(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	offers := []*Offer{NewOffer(0, 3), NewOffer(1, 3), NewOffer(2, 3)}
	offers[2].card.Process = Process{PID: dead.Process.Pid, Born: 1}
	var cards [][]byte
	for _, o := range offers {
		cards = append(cards, o.Card())
	}
	var both sync.WaitGroup
	for r, o := range offers[:2] {
		both.Go(func() {
			_, err := o.Join(ctx, cards)
			if err == nil || ctx.Err() != nil {
				t.Errorf("rank %d: %v", r, err)
			}
			if named := fmt.Sprintf("rank 2, %d, has ended", dead.Process.Pid); r == 0 && !strings.Contains(fmt.Sprint(err), named) {
				t.Errorf("rank %d does not say %q: %v", r, named, err)
			}
		})
	}
	both.Wait()
	if _, err := os.Stat(path(offers[0].card.Name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the segment is still there: %v", err)
	}
}

// Who gives up a meeting ends it for the others.
func TestJoinOfWhoGivesUp(t *testing.T) {
	name := fmt.Sprintf("%s %d", t.Name(), time.Now().UnixNano())
	long, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	short, end := context.WithCancel(context.Background())
	errs := make([]error, 2)
	var both sync.WaitGroup
	both.Go(func() { _, errs[0] = Join(long, name, 0, 3) })
	both.Go(func() { _, errs[1] = Join(short, name, 1, 3) })
	for segment := path(name); ; time.Sleep(time.Millisecond) {
		if s, err := attach(segment, name, 3); err == nil {
			came := s.head().joined.Load()
			s.release()
			if came == 2 {
				break
			}
		}
	}
	end()
	both.Wait()
	if !errors.Is(errs[1], context.Canceled) || errs[0] == nil || long.Err() != nil || !strings.Contains(errs[0].Error(), "missing ranks 2 of 3") {
		t.Errorf("rank 0: %v; rank 1: %v", errs[0], errs[1])
	}
}

// A split that one member cannot join ends for the others, also where the member goes on.
func TestSplitOfWhoCannot(t *testing.T) {
	ends := group(t, 3)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	refuse(t, func(int64) bool { return true })
	errs := make([]error, 3)
	var all sync.WaitGroup
	for r, e := range ends {
		all.Go(func() { _, errs[r] = e.Split(ctx, "part", []int{0, 1, 2}) })
	}
	all.Wait()
	for r, err := range errs {
		if err == nil || ctx.Err() != nil || r == 0 && !errors.Is(err, ErrRoom) || r > 0 && !strings.Contains(err.Error(), "rank 0 could not join") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A rank that gave a split up may come again, however long the others take.
func TestSplitAgain(t *testing.T) {
	ends := group(t, 3)
	members := []int{0, 1, 2}
	for again := range 3 { // the rank that gave up
		name := fmt.Sprint("part ", again)
		ended, end := context.WithCancel(context.Background())
		end()
		_, err := ends[again].Split(ended, name, members)
		require.ErrorIs(t, err, context.Canceled)
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		last := (again + 1) % 3
		errs := make([]error, 3)
		var all sync.WaitGroup
		split := func(r int) {
			all.Go(func() {
				var e transport.Endpoint
				if e, errs[r] = ends[r].Split(ctx, name, members); errs[r] == nil {
					errs[r] = e.Close()
				}
			})
		}
		split(again)
		e := ends[again].Endpoint.(*endpoint)
		require.Eventually(t, func() bool { return e.seg.rank(again).failed.Load() == 0 }, limit, time.Millisecond, "rank %d comes again", again)
		split(3 - again - last)
		time.Sleep(4 * lookAgain) // they look after each other meanwhile
		split(last)
		all.Wait()
		for r, err := range errs {
			require.NoError(t, err, "rank %d gave up, rank %d", again, r)
		}
	}
}

// Segments of ranks that were killed before all had come are swept away by the next, and no others.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * abandoned)
	s, err := create(filepath.Join(dir, fileMark()+"1"), "group", 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fileMark() + "2", fileMark() + "3", "another's"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{fileMark() + "1", fileMark() + "2", "another's"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir)
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, strings.TrimPrefix(e.Name(), fileMark()))
	}
	if err != nil || strings.Join(left, " ") != "another's 1 3" {
		t.Errorf("%q are left: %v", left, err)
	}
	s.release()
}

// Groups that were closed and released have no addresses any more, however many there were.
func TestRelease(t *testing.T) {
	mappings := func() int {
		text, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "/"+fileMark())
	}
	before := mappings()
	for range 5 {
		ends := group(t, 3)
		if mappings() != before+3 {
			t.Fatalf("%d mappings of 3 ranks, %d before", mappings(), before)
		}
		for _, e := range ends {
			own := e.Endpoint.(*endpoint)
			own.Release() // before Close it does nothing
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			own.Release()
			own.Release()
			own.seg.forget()
			if d := own.Describe(); !strings.Contains(d, "has left") {
				t.Errorf("it describes itself as %q", d)
			}
			if err := own.Signal(0, []byte("x")); err != nil {
				t.Errorf("a note after the end: %v", err)
			}
		}
	}
	if after := mappings(); after != before {
		t.Errorf("%d mappings, %d before", after, before)
	}
}
