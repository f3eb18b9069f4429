package tcp

import (
	"errors"
	"fmt"
	"io"
)

// staging is how much is read at a time when a header is expected: a short message
// comes with its header in one read.
const staging = 8 << 10

// errFrame is wrapped by every error about bytes that are not what a peer should have
// sent.
var errFrame = errors.New("broken frame")

// incoming is the reading side of a connection.
type incoming struct {
	// read is Read of the connection; wait says that a message may be long in coming,
	// so that looking again for a moment is worth it.
	read   func(p []byte, wait bool) (int, error)
	buf    []byte // staging: bytes r to w are read and not used
	r, w   int
	number uint64 // of the next frame
}

// next reads a frame's header, which must be the next one.
func (in *incoming) next(f *frame) error {
	if in.buf == nil {
		in.buf = make([]byte, staging)
	}
	for in.w-in.r < headSize {
		if in.r > 0 {
			in.w = copy(in.buf, in.buf[in.r:in.w])
			in.r = 0
		}
		n, err := in.read(in.buf[in.w:], true)
		in.w += n
		if err != nil && in.w < headSize {
			if in.w > 0 && err == io.EOF {
				err = fmt.Errorf("the connection ends %d bytes into a header: %w", in.w, io.ErrUnexpectedEOF)
			}
			return err
		}
	}
	if err := f.decode((*[headSize]byte)(in.buf[in.r:])); err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	in.r += headSize
	if f.number != in.number {
		return &orderError{want: in.number, got: f.number}
	}
	in.number++
	return nil
}

// payload reads what follows a header; dst is as long as that.
func (in *incoming) payload(f *frame, dst []byte) error {
	n := copy(dst, in.buf[in.r:in.w])
	in.r += n
	sum := uint32(0)
	sum = updateSum(sum, dst[:n])
	for n < len(dst) {
		m, err := in.read(dst[n:], false)
		sum = updateSum(sum, dst[n:n+m]) // while it is in the cache
		n += m
		if err != nil && n < len(dst) {
			if err == io.EOF {
				err = fmt.Errorf("the connection ends %d bytes into a payload of %d: %w", n, len(dst), io.ErrUnexpectedEOF)
			}
			return err
		}
	}
	if sum != f.sum {
		return errSum
	}
	return nil
}

// errSum is a payload that does not match its checksum.
var errSum = fmt.Errorf("%w: payload does not match its checksum", errFrame)

// orderError is a frame that came twice or out of order, or whose predecessor is lost.
type orderError struct{ want, got uint64 }

func (e *orderError) Error() string {
	if e.got < e.want {
		return fmt.Sprintf("broken frame: frame %d came again, %d was expected", e.got, e.want)
	}
	return fmt.Sprintf("broken frame: frame %d was expected and is lost: %d came", e.want, e.got)
}

func (e *orderError) Unwrap() error { return errFrame }
