package host

import "github.com/volley-go/volley/memory"

// span checks the range [offset, offset+n) of a buffer and gives its bytes.
func span(call string, b *memory.Buffer, offset, n int64) ([]byte, error) {
	switch {
	case b == nil:
		return nil, mismatch(call, "no buffer given")
	case !b.Place().HostAccessible():
		return nil, mismatch(call, "a buffer on %s", b.Place())
	case offset < 0 || n < 0 || offset > b.Len()-n:
		return nil, mismatch(call, "%d bytes from %d of a buffer of %d", n, offset, b.Len())
	}
	return b.Bytes()[offset : offset+n], nil
}

func (s *stream) Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error {
	to, err := span("copy", dst, dstOffset, n)
	if err != nil {
		return err
	}
	from, err := span("copy", src, srcOffset, n)
	if err != nil {
		return err
	}
	o := op{
		call:  "copy",
		run:   func() error { copy(to, from); return nil },
		after: func() { dst.Release(); src.Release() },
	}
	dst.Retain()
	src.Retain()
	return s.give(o)
}

func (s *stream) Fill(dst *memory.Buffer, offset, n int64, value byte) error {
	to, err := span("fill", dst, offset, n)
	if err != nil {
		return err
	}
	dst.Retain()
	return s.give(op{
		call:  "fill",
		run:   func() error { fill(to, value); return nil },
		after: dst.Release,
	})
}

// give enqueues o, or ends it at once where the stream takes no more.
func (s *stream) give(o op) error {
	err := s.enqueue(o)
	if err != nil {
		o.after()
	}
	return err
}

// fill sets all bytes to value: by doubling copies, which run at the speed of
// memory in plain Go.
func fill(to []byte, value byte) {
	if value == 0 || len(to) == 0 {
		clear(to)
		return
	}
	const first = 4096
	head := to[:min(first, len(to))]
	for i := range head {
		head[i] = value
	}
	for done := len(head); done < len(to); done += first { // from a source that stays in L1
		copy(to[done:], head)
	}
}
