package gang

import (
	"net"
	"sync"
)

// door is where workers come, of all generations: each has a view of it, so that who is late meets the next one and is told so.
type door struct {
	net.Listener
	come chan net.Conn
	end  chan struct{}
	once sync.Once
	err  error
}

func newDoor(ln net.Listener) *door {
	d := &door{Listener: ln, come: make(chan net.Conn), end: make(chan struct{})}
	go d.open()
	return d
}

func (d *door) open() {
	for {
		c, err := d.Accept()
		if err != nil {
			select {
			case <-d.end:
				return
			default:
			}
			d.Close()
			return
		}
		select {
		case d.come <- c:
		case <-d.end:
			_ = c.Close() // nobody is expected
			return
		}
	}
}

// Close ends all views.
func (d *door) Close() error {
	d.once.Do(func() {
		close(d.end)
		d.err = d.Listener.Close()
	})
	return d.err
}

func (d *door) view() net.Listener { return &view{door: d, closed: make(chan struct{})} }

// view is the door of one generation.
type view struct {
	door   *door
	closed chan struct{}
	once   sync.Once
}

func (v *view) Accept() (net.Conn, error) {
	select {
	case c := <-v.door.come:
		return c, nil
	case <-v.closed:
	case <-v.door.end:
	}
	return nil, net.ErrClosed
}

func (v *view) Close() error {
	v.once.Do(func() { close(v.closed) })
	return nil
}

func (v *view) Addr() net.Addr { return v.door.Addr() }
