package devicetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Run holds the devices that open makes to the contracts of package device.
// Every part opens one of its own and closes it. The functions that are
// launched are those of Kernels; a device that takes no host functions gets
// its own form of them through RunWith.
func Run(t *testing.T, open func() device.Device) { RunWith(t, open, Kernels()) }

// RunWith is Run with another source for the functions that Kernels lists.
func RunWith(t *testing.T, open func() device.Device, kernels device.Source) {
	parts := []struct {
		name string
		run  func(*bench)
	}{
		{"Info", testInfo},
		{"Allocate", testAllocate},
		{"CopyBothWays", testCopyBothWays},
		{"Ranges", testRanges},
		{"Order", testOrder},
		{"Asynchrony", testAsynchrony},
		{"WaitCanceled", testWaitCanceled},
		{"Fill", testFill},
		{"Free", testFree},
		{"StickyError", testStickyError},
		{"StickyPanic", testStickyPanic},
		{"FailureReleases", testFailureReleases},
		{"Streams", testManyStreams},
		{"EventFresh", testEventFresh},
		{"EventOrder", testEventOrder},
		{"EventAgain", testEventAgain},
		{"EventTiming", testEventTiming},
		{"EventFailure", testEventFailure},
		{"EventWaitCanceled", testEventWaitCanceled},
		{"EventClosed", testEventClosed},
		{"Launch", testLaunch},
		{"LaunchOrder", testLaunchOrder},
		{"LaunchRefuses", testLaunchRefuses},
		{"Modules", testModules},
		{"CloseStream", testCloseStream},
		{"CloseDevice", testCloseDevice},
		{"Cycles", testCycles},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			b := &bench{T: t, d: open(), open: open, kernels: kernels}
			before := memory.OverReleases()
			p.run(b)
			b.must(b.d.Close())
			if n := memory.OverReleases() - before; n != 0 {
				t.Errorf("%d releases too many", n)
			}
		})
	}
}

// patience ends waits that would hang; nothing is measured with it.
const patience = 30 * time.Second

// bench is a test with its device.
type bench struct {
	*testing.T
	d       device.Device
	open    func() device.Device
	kernels device.Source
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// is fails unless err is of the kind.
func (b *bench) is(err, kind error, what string) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Fatalf("%s: got %v, want: %v", what, err, kind)
	}
}

func (b *bench) stream() device.Stream {
	b.Helper()
	s, err := b.d.NewStream()
	b.must(err)
	return s
}

func (b *bench) event() device.Event {
	b.Helper()
	e, err := b.d.NewEvent()
	b.must(err)
	return e
}

// wait waits for the stream, and fails rather than hang.
func (b *bench) wait(s device.Stream) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return s.Wait(ctx)
}

// host is a host buffer with the bytes given.
func (b *bench) host(content []byte) *memory.Buffer {
	b.Helper()
	buf, err := memory.New(b.d.Pinned(), int64(len(content)))
	b.must(err)
	copy(buf.Bytes(), content)
	return buf
}

// device is a buffer in the device's memory with the bytes given.
func (b *bench) device(s device.Stream, content []byte) *memory.Buffer {
	b.Helper()
	buf, err := memory.New(b.d.Memory(), int64(len(content)))
	b.must(err)
	h := b.host(content)
	b.must(s.Copy(buf, 0, h, 0, h.Len()))
	b.must(b.wait(s))
	h.Release()
	return buf
}

// read copies a buffer back.
func (b *bench) read(s device.Stream, buf *memory.Buffer) []byte {
	b.Helper()
	h := b.host(make([]byte, buf.Len()))
	defer h.Release()
	b.must(s.Copy(h, 0, buf, 0, buf.Len()))
	b.must(b.wait(s))
	return bytes.Clone(h.Bytes())
}

// gate is a piece of work that holds a stream until it is opened.
type gate struct {
	entered, open chan struct{}
}

func (b *bench) gate(s device.Stream) gate {
	b.Helper()
	g := gate{make(chan struct{}), make(chan struct{})}
	b.must(s.Call("gate", func() error {
		close(g.entered)
		select {
		case <-g.open:
			return nil
		case <-time.After(patience):
			return errors.New("the gate was never opened")
		}
	}))
	return g
}

// counting is a host buffer that counts how often it is freed.
func counting(n int64, freed func()) *memory.Buffer {
	return memory.Wrap(make([]byte, n), freed)
}

// pattern is n bytes that depend on seed and place.
func pattern(n int, seed byte) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = seed + byte(i*7) ^ byte(i>>8)
	}
	return p
}
