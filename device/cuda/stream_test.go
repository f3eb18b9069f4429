package cuda

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// eventually fails unless ok becomes true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestReleasedWithoutWait gives memory back when its work is done, though nobody
// waits for the stream, and not before.
func TestReleasedWithoutWait(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	s := newStream(t, d)
	blocks := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.live["blocks"]
	}
	f.set(func() { f.held = true })
	for range 100 {
		b := onDevice(t, d, 64)
		must(t, s.Launch(kernel(t, d, "twice"), device.Grid{}, b))
		b.Release()
	}
	time.Sleep(10 * reapDelay)
	if n := blocks(); n != 100 {
		t.Fatalf("%d of 100 blocks are left while the GPU uses them", n)
	}
	f.mu.Lock()
	f.held = false
	f.mu.Unlock()
	eventually(t, "blocks are left", func() bool { return blocks() == 0 })
	b := onDevice(t, d, 64) // and again, once the reaper has ended
	must(t, s.Free(b))
	eventually(t, "the second block is left", func() bool { return blocks() == 0 })
}

// TestManyCallers gives work of every kind to a few streams from many
// goroutines: nothing hangs and nothing is left.
func TestManyCallers(t *testing.T) {
	f := newFake(t)
	d := f.open()
	defer d.Close()
	streams := []device.Stream{newStream(t, d), newStream(t, d), newStream(t, d)}
	fn := kernel(t, d, "twice")
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(seed, 0))
			e, err := d.NewEvent()
			if err != nil {
				t.Error(err)
				return
			}
			b, err := memory.New(d.Memory(), 64)
			if err != nil {
				t.Error(err)
				return
			}
			plain := memory.Wrap(make([]byte, 64), nil)
			for i := range 300 {
				s := streams[r.IntN(len(streams))]
				var err error
				switch r.IntN(8) {
				case 0:
					err = s.Launch(fn, device.Grid{}, b)
				case 1:
					err = s.Fill(b, 0, 64, byte(i))
				case 2:
					err = s.Copy(b, 0, plain, 0, 64)
				case 3:
					err = s.Call("nothing", func() error { return nil })
				case 4:
					err = s.Record(e)
				case 5:
					err = s.WaitEvent(e)
				case 6:
					err = s.Free(b.Retain())
				case 7:
					err = wait(t, s)
				}
				if err != nil {
					t.Error(err)
				}
			}
			b.Release()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	for _, s := range streams {
		must(t, wait(t, s))
	}
}
