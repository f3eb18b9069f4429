package gang

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
)

// mostWorkers is how many a gang can have.
const mostWorkers = 1 << 14

// Options are how a gang is started.
type Options struct {
	// Workers is how many there are.
	Workers int
	// Host is where the start listens, as workers reach it: 127.0.0.1 where it is empty; AnyMachine is the address of this machine at which others reach it. Between
	// machines everything is encrypted by a key that the invitations have.
	Host string
	// Lease is for how long a worker, or the start, may be silent; 0 is 10 seconds.
	Lease time.Duration
	// JoinTimeout is how long workers may take to come where the context has no deadline; 0 is 2 minutes.
	JoinTimeout time.Duration
	// Grace is how long Stop waits for workers to end before it kills them; 0 is 5 seconds.
	Grace time.Duration
	// Generation is the first one's number; 0 is 1. An engine that starts a gang again gives its own count.
	Generation uint64
	// Folder is where tables lie that members of one machine share: empty is shared memory, else the folder of temporary files.
	Folder string
	// Env is what processes have in their environment besides this one's.
	Env []string
	// Stdout and Stderr are where processes write; nil is where this one does.
	Stdout, Stderr io.Writer
	// Backend has the tables that are fetched; nil is the CPU.
	Backend *kernels.Backend
	// Comm is the options of the Comms of Goroutines.
	Comm collective.Options
	// Slots, if there are some, has a place for each worker while the gang is there: Start waits until all are free. More workers than places are an
	// ErrMismatch.
	Slots *Slots
}

// AnyMachine as Options.Host is an address that is not loopback, where this machine has one: the first of the interfaces that VOLLEY_SOCKET_IFNAME allows, by the
// rules of the TCP transport.
const AnyMachine = "*"

// EnterOptions are a worker's.
type EnterOptions struct {
	// Backend has the tables that are fetched; nil is the CPU.
	Backend *kernels.Backend
	// Comm is the options of Comms; all workers give the same.
	Comm collective.Options
}

func (o *Options) fill() error {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.Lease, 10*time.Second)
	set(&o.JoinTimeout, 2*time.Minute)
	set(&o.Grace, 5*time.Second)
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Host == AnyMachine {
		at, err := tcp.Address()
		if err != nil {
			return &device.Error{Call: "gang.Start", Kind: device.ErrUnavailable, Cause: err}
		}
		o.Host = at.String()
	}
	if o.Generation == 0 {
		o.Generation = 1
	}
	var err error
	if o.Backend == nil {
		o.Backend, err = hostBackend()
	}
	return err
}

var hostBackend = sync.OnceValues(func() (*kernels.Backend, error) { return cpu.New(host.New()) })

// Slots are places that several gangs compete for. A gang has all that it needs or none, so that two never wait for each other's.
type Slots struct {
	all     int
	mu      sync.Mutex
	free    int
	waiting []*waiting // in the order in which they came
}

type waiting struct {
	n     int
	given chan struct{}
}

// NewSlots are n places.
func NewSlots(n int) *Slots { return &Slots{all: n, free: n} }

func (s *Slots) take(ctx context.Context, n int) error {
	if s == nil {
		return nil
	}
	if n > s.all {
		return device.Errorf(device.ErrMismatch, "", "gang.Start", "%d workers want a place each, of %d", n, s.all)
	}
	s.mu.Lock()
	w := &waiting{n, make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.serve()
	s.mu.Unlock()
	select {
	case <-w.given:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.given: // in the same moment
		s.free += n
	default:
		for i := range s.waiting {
			if s.waiting[i] == w {
				s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
				break
			}
		}
	}
	s.serve()
	return &device.Error{Call: "gang.Start", Kind: device.ErrCanceled, Cause: context.Cause(ctx)}
}

// serve gives places to who has waited the longest; s.mu is held.
func (s *Slots) serve() {
	for len(s.waiting) > 0 && s.waiting[0].n <= s.free {
		s.free -= s.waiting[0].n
		close(s.waiting[0].given)
		s.waiting = s.waiting[1:]
	}
}

func (s *Slots) give(n int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	s.serve()
}
