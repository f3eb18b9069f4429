//go:build unix

package tcp

import (
	"io"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Who waits on a socket first looks at it again a few times, then sleeps in the kernel
// on this socket alone, which wakes it as fast as a blocking call would be woken, and
// only then, when nothing comes for a while, in Go's poller, which needs no thread and
// heeds deadlines.
const (
	naps    = 4
	napTime = 1 // in milliseconds: what a deadline may have to wait for
)

// direct is a plain socket that is read and written by its own calls.
type direct struct {
	raw syscall.RawConn
	// One reader and one writer at a time; what they hand to the functions below.
	in, out waiting
}

// waiting is one direction's call.
type waiting struct {
	buf   []byte
	bufs  [][]byte
	looks int
	naps  int
	poll  [1]unix.PollFd
	n     int
	err   error
	fn    func(fd uintptr) bool
}

// again waits for the socket in the ways that a call has left, and reports whether the
// call is to be tried again.
func (w *waiting) again(fd uintptr, event int16) bool {
	switch {
	case w.looks > 0:
		w.looks--
		runtime.Gosched()
		return true
	case w.naps > 0:
		w.naps--
		w.poll[0] = unix.PollFd{Fd: int32(fd), Events: event}
		_, _ = unix.Poll(w.poll[:], napTime) // whatever it says, the call tells
		return true
	}
	return false
}

// newDirect is nil where the connection is no plain socket.
func newDirect(conn net.Conn) (*direct, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &direct{raw: raw}
	d.in.fn, d.out.fn = d.tryRead, d.tryWrite
	return d, nil
}

// read is Read that looks at the socket again, up to looks times, giving way to other
// goroutines in between.
func (d *direct) read(p []byte, looks int) (int, error) {
	w := &d.in
	w.buf, w.looks, w.naps, w.n, w.err = p, looks, naps, 0, nil
	err := d.raw.Read(w.fn)
	w.buf = nil
	if err == nil {
		err = w.err
	}
	if err != nil {
		return 0, err
	}
	return w.n, nil
}

func (d *direct) tryRead(fd uintptr) bool {
	w := &d.in
	for {
		w.n, w.err = syscall.Read(int(fd), w.buf)
		switch w.err {
		case nil:
			if w.n == 0 {
				w.err = io.EOF
			}
			return true
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			if !w.again(fd, unix.POLLIN) {
				return false
			}
			continue
		}
		w.n = 0
		return true
	}
}

// write writes both as far as the socket takes them now; if wait is set, all of them.
func (d *direct) write(head, payload []byte, wait bool) (int, error) {
	w := &d.out
	total := 0
	for len(head)+len(payload) > 0 {
		w.bufs = append(w.bufs[:0], head, payload)
		w.n, w.err, w.naps = 0, nil, -1
		if wait {
			w.naps = naps
		}
		err := d.raw.Write(w.fn)
		clear(w.bufs)
		if err == nil {
			err = w.err
		}
		total += w.n
		if err != nil || w.n == 0 {
			return total, err
		}
		cut := min(w.n, len(head))
		head, payload = head[cut:], payload[w.n-cut:]
		if !wait {
			return total, nil
		}
	}
	return total, nil
}

func (d *direct) tryWrite(fd uintptr) bool {
	w := &d.out
	for {
		if len(w.bufs[1]) == 0 {
			w.n, w.err = syscall.Write(int(fd), w.bufs[0])
		} else {
			w.n, w.err = unix.SendmsgBuffers(int(fd), w.bufs, nil, nil, 0)
		}
		w.n = max(w.n, 0)
		switch {
		case w.err == syscall.EINTR:
			continue
		case w.err != syscall.EAGAIN:
			return true
		case w.naps < 0: // not waiting
			w.err = nil
			return true
		case !w.again(fd, unix.POLLOUT):
			return false
		}
	}
}

// drain reads away what has come and nobody will read: a socket that is closed over it
// takes back what it has itself sent and the other side has not got yet.
func drain(conn net.Conn) {
	c, ok := socketOf(conn).(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return // it is closed
	}
	buf := make([]byte, 64<<10)
	_ = raw.Control(func(fd uintptr) {
		for range 256 { // one who goes on sending is told so by the reset
			if n, err := syscall.Read(int(fd), buf); err != nil && err != syscall.EINTR || n == 0 {
				return
			}
		}
	})
}
