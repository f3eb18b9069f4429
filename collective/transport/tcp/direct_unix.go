//go:build unix

package tcp

import (
	"io"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// direct is a plain socket that is read and written without waiting.
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
	n     int
	err   error
	fn    func(fd uintptr) bool
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
// goroutines in between, before it waits for the poller.
func (d *direct) read(p []byte, looks int) (int, error) {
	d.in.buf, d.in.looks, d.in.n, d.in.err = p, looks, 0, nil
	err := d.raw.Read(d.in.fn)
	d.in.buf = nil
	if err == nil {
		err = d.in.err
	}
	if err != nil {
		return 0, err
	}
	return d.in.n, nil
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
			if w.looks--; w.looks < 0 {
				return false
			}
			runtime.Gosched()
			continue
		}
		w.n = 0
		return true
	}
}

// write writes what the socket takes now.
func (d *direct) write(p []byte) (int, error) {
	d.out.buf = p
	return d.tryOut()
}

// writev writes what the socket takes now of both.
func (d *direct) writev(a, b []byte) (int, error) {
	d.out.buf, d.out.bufs = nil, append(d.out.bufs[:0], a, b)
	return d.tryOut()
}

func (d *direct) tryOut() (int, error) {
	d.out.n, d.out.err = 0, nil
	err := d.raw.Write(d.out.fn)
	d.out.buf = nil
	clear(d.out.bufs)
	if err == nil {
		err = d.out.err
	}
	return max(d.out.n, 0), err
}

func (d *direct) tryWrite(fd uintptr) bool {
	w := &d.out
	for {
		if w.buf != nil {
			w.n, w.err = syscall.Write(int(fd), w.buf)
		} else {
			w.n, w.err = unix.SendmsgBuffers(int(fd), w.bufs, nil, nil, 0)
		}
		if w.err == syscall.EINTR {
			continue
		}
		if w.err == syscall.EAGAIN {
			w.n, w.err = 0, nil
		}
		return true
	}
}
