package transfer

import (
	"context"
	"encoding/binary"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// copying is a copy that can be run again and again.
type copying struct {
	stream   device.Stream
	from, to *memory.Buffer
	host     *memory.Buffer // what is sent, and later what has arrived, for devices' memory
}

// newCopying makes both ends, with a pattern in the one and nothing of it in the
// other.
func newCopying(ctx context.Context, b *kernels.Backend, path path, bytes int64) (_ *copying, err error) {
	c := new(copying)
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if c.stream, err = b.NewStream(); err != nil {
		return nil, err
	}
	for _, end := range []struct {
		of memory.Allocator
		to **memory.Buffer
	}{
		{allocator(b.Device, path.from), &c.from},
		{allocator(b.Device, path.to), &c.to},
		{memory.Heap, &c.host},
	} {
		if *end.to, err = memory.New(end.of, bytes); err != nil {
			return nil, err
		}
	}
	// Through the host's copy, for every kind of memory alike.
	if err = c.send(ctx, c.to, func(int) uint64 { return 0 }); err != nil {
		return nil, err
	}
	return c, c.send(ctx, c.from, pattern)
}

// pattern is word i of what is copied: no two words of it are the same.
func pattern(i int) uint64 { return uint64(i)*0x9e3779b97f4a7c15 + 1 }

// send fills a buffer with words.
func (c *copying) send(ctx context.Context, to *memory.Buffer, word func(i int) uint64) error {
	bytes := c.host.Bytes()
	for i := range len(bytes) / 8 {
		binary.LittleEndian.PutUint64(bytes[8*i:], word(i))
	}
	if err := c.stream.Copy(to, 0, c.host, 0, to.Len()); err != nil {
		return err
	}
	return c.stream.Wait(context.WithoutCancel(ctx)) // the host's bytes change after
}

// run copies once and waits until that is done.
func (c *copying) run(ctx context.Context) error {
	if err := c.stream.Copy(c.to, 0, c.from, 0, c.from.Len()); err != nil {
		return err
	}
	return c.stream.Wait(ctx)
}

// arrived reports whether the pattern is what came.
func (c *copying) arrived(ctx context.Context) (bool, error) {
	if err := c.stream.Copy(c.host, 0, c.to, 0, c.to.Len()); err != nil {
		return false, err
	}
	if err := c.stream.Wait(ctx); err != nil {
		return false, err
	}
	bytes := c.host.Bytes()
	for i := range len(bytes) / 8 {
		if binary.LittleEndian.Uint64(bytes[8*i:]) != pattern(i) {
			return false, nil
		}
	}
	return true, nil
}

// close gives everything back once the copies under way are done.
func (c *copying) close() {
	if c.stream != nil {
		_ = c.stream.Close() // a failure was returned by the step that met it
	}
	c.from.Release()
	c.to.Release()
	c.host.Release()
}
