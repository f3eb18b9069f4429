package devicetest

import (
	"context"
	"errors"
	"time"

	"github.com/volley-go/volley/device"
)

func testEventFresh(b *bench) {
	e := b.event()
	if done, err := e.Done(); !done || err != nil {
		b.Fatalf("an event that was never recorded: %v, %v", done, err)
	}
	b.must(e.Wait(context.Background()))
	s := b.stream()
	b.must(s.WaitEvent(e))
	b.must(b.wait(s))
	_, err := e.Since(e)
	b.is(err, device.ErrMismatch, "the time of an event that was never recorded")
}

// testEventOrder lets one stream wait for another, and looks at who was first.
func testEventOrder(b *bench) {
	for range 50 {
		first, second := b.stream(), b.stream()
		e := b.event()
		value := 0
		g := b.gate(first)
		b.must(first.Call("write", func() error { value = 42; return nil }))
		b.must(first.Record(e))
		b.must(second.WaitEvent(e))
		got := -1
		b.must(second.Call("read", func() error { got = value; return nil }))
		<-g.entered
		if done, err := e.Done(); done || err != nil {
			b.Fatalf("done %v, %v", done, err)
		}
		close(g.open)
		b.must(b.wait(second))
		if got != 42 {
			b.Fatalf("read %d", got)
		}
		if done, err := e.Done(); !done || err != nil {
			b.Fatalf("done %v, %v", done, err)
		}
		b.must(e.Wait(context.Background()))
		b.must(first.Close())
		b.must(second.Close())
	}
}

// testEventAgain records an event twice: who waits for the first point is not
// held up by the second.
func testEventAgain(b *bench) {
	s, other := b.stream(), b.stream()
	e := b.event()
	b.must(s.Record(e))
	b.must(other.WaitEvent(e))
	g := b.gate(s)
	b.must(s.Record(e))
	b.must(b.wait(other))
	if done, _ := e.Done(); done {
		b.Fatal("the second point counts as reached with the first")
	}
	close(g.open)
	b.must(e.Wait(context.Background()))
}

func testEventTiming(b *bench) {
	s := b.stream()
	from, to := b.event(), b.event()
	b.must(s.Record(from))
	const nap = 20 * time.Millisecond
	b.must(s.Call("nap", func() error { time.Sleep(nap); return nil }))
	b.must(s.Record(to))
	if took, err := to.Since(from); err == nil {
		b.Fatalf("%s between points that were not reached", took)
	} else {
		b.is(err, device.ErrMismatch, "a point that was not reached")
	}
	b.must(b.wait(s))
	took, err := to.Since(from)
	b.must(err)
	if took < nap*9/10 || took > patience { // at least what the work slept; clocks differ a little
		b.Fatalf("%s for a nap of %s", took, nap)
	}
	back, err := from.Since(to)
	b.must(err)
	if back != -took {
		b.Fatalf("%s there, %s back", took, back)
	}
	_, err = to.Since(nil)
	b.is(err, device.ErrMismatch, "since nothing")
}

// testEventFailure sees a failure cross from stream to stream.
func testEventFailure(b *bench) {
	s, other := b.stream(), b.stream()
	e := b.event()
	broken := errors.New("broken")
	g := b.gate(s)
	b.must(s.Call("breaks-here", func() error { return broken }))
	b.must(s.Record(e))
	b.must(other.WaitEvent(e))
	ran := false
	b.must(other.Call("relies on it", func() error { ran = true; return nil }))
	close(g.open)
	b.is(b.wait(other), broken, "a stream that waited for a failed one")
	b.is(e.Wait(context.Background()), broken, "an event of a failed stream")
	done, err := e.Done()
	if !done {
		b.Fatal("the event was not reached")
	}
	b.is(err, broken, "an event of a failed stream")
	if ran {
		b.Fatal("work that relies on failed work ran")
	}
}

func testEventWaitCanceled(b *bench) {
	s := b.stream()
	e := b.event()
	g := b.gate(s)
	b.must(s.Record(e))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := e.Wait(ctx)
	b.is(err, device.ErrCanceled, "a wait whose context ended")
	b.is(err, context.DeadlineExceeded, "a wait whose context ended")
	close(g.open)
	b.must(e.Wait(context.Background()))
}

func testEventClosed(b *bench) {
	s := b.stream()
	e := b.event()
	b.must(e.Close())
	b.must(e.Close())
	b.is(s.Record(e), device.ErrClosed, "record")
	b.is(s.WaitEvent(e), device.ErrClosed, "wait event")
	b.is(e.Wait(context.Background()), device.ErrClosed, "wait")
	_, err := e.Done()
	b.is(err, device.ErrClosed, "done")
	_, err = e.Since(b.event())
	b.is(err, device.ErrClosed, "since")
	b.must(b.wait(s))
}
