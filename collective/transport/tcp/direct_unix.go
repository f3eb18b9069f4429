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
	raw     syscall.RawConn
	backlog *backlog
	// One reader and one writer at a time; what they hand to the functions below.
	in, out waiting
}

// waiting is one direction's call.
type waiting struct {
	head   []byte // of what is written; buf follows it
	buf    []byte
	vector vector
	looks  int
	naps   int
	poll   [1]unix.PollFd
	n      int
	err    error
	fn     func(fd uintptr) bool
}

// sleeper sleeps until one of several sockets is ready.
type sleeper struct{ polls []unix.PollFd }

// nap waits for a moment until one of the connections can be written, or what polls has
// already is ready.
func (s *sleeper) nap(some []*outgoing) {
	if len(some) == 0 {
		_, _ = unix.Poll(s.polls, napTime) // whatever it says, the calls tell
		s.polls = s.polls[:0]
		return
	}
	err := some[0].direct.raw.Control(func(fd uintptr) { // which keeps its number from being another's
		s.polls = append(s.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT})
		s.nap(some[1:])
	})
	if err != nil { // closed
		s.nap(some[1:])
	}
}

// again waits for a socket to be read in the ways that a call has left, and reports
// whether the call is to be tried again.
func (d *direct) again(fd uintptr) bool {
	w, b := &d.in, d.backlog
	switch {
	case b.advance():
		return true
	case w.looks > 0:
		w.looks--
		runtime.Gosched()
		return true
	case w.naps > 0:
		w.naps--
		b.naps.polls = append(b.naps.polls[:0], unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		b.naps.nap(b.some)
		return true
	}
	b.handOver()
	return false
}

// newDirect is nil where the connection is no plain socket.
func newDirect(conn net.Conn, b *backlog) (*direct, error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	d := &direct{raw: raw, backlog: b}
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
		w.n, w.err = readNow(int(fd), w.buf)
		switch w.err {
		case nil:
			if w.n == 0 {
				w.err = io.EOF
			}
			return true
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			if !d.again(fd) {
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
		w.head, w.buf = head, payload
		w.n, w.err, w.naps = 0, nil, -1
		if wait {
			w.naps = naps
		}
		err := d.raw.Write(w.fn)
		w.head, w.buf = nil, nil
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
		w.n, w.err = w.vector.writeNow(int(fd), w.head, w.buf)
		w.n = max(w.n, 0)
		switch {
		case w.err == syscall.EINTR:
			continue
		case w.err != syscall.EAGAIN:
			return true
		case w.naps < 0: // not waiting
			w.err = nil
			return true
		case w.naps == 0:
			return false
		}
		w.naps--
		w.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
		_, _ = unix.Poll(w.poll[:], napTime) // whatever it says, the call tells
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
