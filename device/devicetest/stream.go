package devicetest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func testOrder(b *bench) {
	s := b.stream()
	if s.Device() != b.d {
		b.Fatal("the stream is of another device")
	}
	var seen []int // only touched by the stream's work, which runs in order
	for i := range 5000 {
		b.must(s.Call("step", func() error {
			seen = append(seen, i)
			return nil
		}))
	}
	b.must(b.wait(s))
	for i, v := range seen {
		if i != v {
			b.Fatalf("step %d ran as number %d", v, i)
		}
	}
	if len(seen) != 5000 {
		b.Fatalf("%d steps ran", len(seen))
	}
}

// testAsynchrony gives work to a stream that is held up: no call may wait.
func testAsynchrony(b *bench) {
	s, other := b.stream(), b.stream()
	g := b.gate(s)
	x, h := b.device(other, make([]byte, 4096)), b.host(pattern(4096, 5))
	out := b.host(make([]byte, 4096))
	e := b.event()
	for range 1000 {
		b.must(s.Copy(x, 0, h, 0, 4096))
		b.must(s.Fill(x, 0, 10, 1))
		b.must(s.Record(e))
	}
	b.must(s.Copy(out, 0, x, 0, 4096))
	<-g.entered
	if done, err := e.Done(); done || err != nil {
		b.Fatalf("the event of held work is done: %v, %v", done, err)
	}
	if out.Bytes()[0] != 0 {
		b.Fatal("held work has run")
	}
	b.must(b.wait(other)) // another stream is not held
	close(g.open)
	b.must(b.wait(s))
	if out.Bytes()[0] != 1 || out.Bytes()[10] != h.Bytes()[10] {
		b.Fatal("the work did not run")
	}
	for _, buf := range []*memory.Buffer{x, h, out} {
		buf.Release()
	}
}

func testWaitCanceled(b *bench) {
	s := b.stream()
	b.must(s.Wait(context.Background())) // of nothing
	g := b.gate(s)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why it ended")
	time.AfterFunc(time.Millisecond, func() { cancel(why) })
	err := s.Wait(ctx)
	b.is(err, device.ErrCanceled, "a wait whose context ended")
	b.is(err, why, "a wait whose context ended")
	ran := false
	b.must(s.Call("after", func() error { ran = true; return nil }))
	close(g.open)
	b.must(b.wait(s)) // the work went on
	if !ran {
		b.Fatal("the end of a wait stopped the stream")
	}
}

func testStickyError(b *bench) {
	s := b.stream()
	first, second := errors.New("the first"), errors.New("the second")
	ran := false
	g := b.gate(s)
	b.must(s.Call("breaks-here", func() error { return first }))
	b.must(s.Call("breaks-too", func() error { ran = true; return second }))
	close(g.open)
	buf := b.host(make([]byte, 8))
	for i, call := range []func() error{
		func() error { return b.wait(s) },
		func() error { return b.wait(s) },
		func() error { return s.Copy(buf, 0, buf, 0, 8) },
		func() error { return s.Fill(buf, 0, 8, 1) },
		func() error { return s.Call("later", func() error { ran = true; return nil }) },
		func() error { return s.Record(b.event()) },
		func() error { return s.WaitEvent(b.event()) },
		func() error { return s.Free(buf.Retain()) },
		s.Close,
	} {
		err := call()
		b.is(err, first, "a failed stream")
		var e *device.Error
		if !errors.As(err, &e) || e.Call != "breaks-here" || e.Device != b.d.Name() || !strings.Contains(err.Error(), "breaks-here") {
			b.Fatalf("call %d: the error does not name what broke: %v", i, err)
		}
	}
	if ran {
		b.Fatal("work after the failure ran")
	}
	if buf.Refs() != 1 {
		b.Fatalf("%d references are left", buf.Refs())
	}
	buf.Release()
	other := b.stream() // the failure is the stream's alone
	b.must(other.Call("fine", func() error { return nil }))
	b.must(b.wait(other))
}

func testStickyPanic(b *bench) {
	s := b.stream()
	var none []error
	b.must(s.Call("panics-here", func() error { return none[b.d.Info().Units] }))
	err := b.wait(s)
	if err == nil || !strings.Contains(err.Error(), "panics-here") || !strings.Contains(err.Error(), "index out of range") {
		b.Fatalf("got %v", err)
	}
}

// testFailureReleases looks for what queued work held when it was skipped.
func testFailureReleases(b *bench) {
	s := b.stream()
	var freed atomic.Int32
	g := b.gate(s)
	b.must(s.Call("breaks", func() error { return errors.New("broken") }))
	x := counting(64, func() { freed.Add(1) })
	y := counting(64, func() { freed.Add(1) })
	z := counting(64, func() { freed.Add(1) })
	b.must(s.Copy(x, 0, y, 0, 64))
	b.must(s.Fill(x, 0, 64, 1))
	b.must(s.Free(z))
	e := b.event()
	b.must(s.Record(e))
	x.Release()
	y.Release()
	close(g.open)
	if b.wait(s) == nil {
		b.Fatal("no failure")
	}
	if freed.Load() != 3 {
		b.Fatalf("%d of 3 buffers were freed", freed.Load())
	}
	if done, _ := e.Done(); !done {
		b.Fatal("an event behind a failure is never reached")
	}
}

func testManyStreams(b *bench) {
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			s, err := b.d.NewStream()
			if err != nil {
				b.Error(err)
				return
			}
			sum := 0
			for k := range 200 {
				if err := s.Call("add", func() error { sum += k; return nil }); err != nil {
					b.Error(err)
				}
				if k%(i+1) == 0 {
					if err := b.wait(s); err != nil {
						b.Error(err)
					}
				}
			}
			if err := s.Close(); err != nil || sum != 199*100 {
				b.Errorf("sum %d, %v", sum, err)
			}
		}()
	}
	wait.Wait()
}

func testCloseStream(b *bench) {
	s := b.stream()
	ran := false
	b.must(s.Call("slow", func() error { time.Sleep(5 * time.Millisecond); ran = true; return nil }))
	b.must(s.Close())
	if !ran {
		b.Fatal("close did not wait for the work")
	}
	b.must(s.Close())
	b.closed(s)
}

// closed holds every call of a closed stream to ErrClosed.
func (b *bench) closed(s device.Stream) {
	b.Helper()
	freed := false
	buf := counting(8, func() { freed = true })
	b.is(s.Copy(buf, 0, buf, 0, 8), device.ErrClosed, "copy")
	b.is(s.Fill(buf, 0, 8, 0), device.ErrClosed, "fill")
	b.is(s.Call("late", func() error { return nil }), device.ErrClosed, "call")
	b.is(s.Wait(context.Background()), device.ErrClosed, "wait")
	b.is(s.Free(buf), device.ErrClosed, "free")
	if !freed {
		b.Fatal("a closed stream kept a reference")
	}
}

func testCloseDevice(b *bench) {
	d := b.open()
	s, err := d.NewStream()
	b.must(err)
	ran := false
	b.must(s.Call("slow", func() error { time.Sleep(5 * time.Millisecond); ran = true; return nil }))
	held, err := memory.New(d.Pinned(), 10)
	b.must(err)
	b.must(d.Close())
	if !ran {
		b.Fatal("close did not wait for the work")
	}
	b.must(d.Close())
	b.closed(s)
	_, err = d.NewStream()
	b.is(err, device.ErrClosed, "new stream")
	_, err = d.NewEvent()
	b.is(err, device.ErrClosed, "new event")
	_, err = d.LoadModule(context.Background(), b.kernels)
	b.is(err, device.ErrClosed, "load module")
	_, err = d.Memory().Allocate(8)
	b.is(err, device.ErrClosed, "allocate")
	held.Release()
}

// testCycles opens and closes a thousand of each and looks for what is left.
func testCycles(b *bench) {
	before := runtime.NumGoroutine()
	for range 1000 {
		s, e := b.stream(), b.event()
		b.must(s.Call("little", func() error { return nil }))
		b.must(s.Record(e))
		b.must(e.Wait(context.Background()))
		b.must(s.Close())
		b.must(e.Close())
	}
	for range 20 {
		d := b.open()
		s, err := d.NewStream()
		b.must(err)
		b.must(s.Call("little", func() error { return nil }))
		b.must(d.Close())
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > before+2 {
		if time.Now().After(deadline) {
			b.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(time.Millisecond)
	}
}
