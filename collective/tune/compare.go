package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/simulate"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// Timing is a collective operation's time over a transport: of one of many calls
// back to back, from when the first rank begins until the last is done, the median of
// several trials.
type Timing struct {
	Transport string  `json:"transport"`
	Op        string  `json:"op"`
	Algorithm string  `json:"algorithm"`
	Ranks     int     `json:"ranks"`
	Bytes     int64   `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	Calls     int     `json:"calls"` // of a trial
	// Rounds are the times of all rounds that were measured, rising; Seconds is the middle one.
	Rounds []float64 `json:"rounds,omitempty"`
}

// what is timed.
func (t *Timing) what() [5]any { return [5]any{t.Transport, t.Op, t.Algorithm, t.Ranks, t.Bytes} }

// Spread is how many times as long as the least of the rounds the middle one took, 1 where
// there was one.
func (t *Timing) Spread() float64 {
	if len(t.Rounds) == 0 || t.Seconds <= 0 {
		return 1
	}
	return t.Seconds / t.Rounds[0]
}

// Agree is the share of pairs of rounds in which one is within 30 % of the other, 1 where there was one: no
// prediction can be expected to be right more often.
func (t *Timing) Agree() float64 {
	agree, n := 0, 0
	for i, a := range t.Rounds {
		for _, b := range t.Rounds[i+1:] {
			n++
			if math.Abs(b/a-1) <= 0.3 {
				agree++
			}
		}
	}
	if n == 0 {
		return 1
	}
	return float64(agree) / float64(n)
}

// mostCalls is how many calls back to back a prediction has at most.
const mostCalls = 640

// Predict is the time that a machine of the figures would take for the calls of a
// Timing.
func (f *Figures) Predict(ctx context.Context, t Timing) (float64, error) {
	op, err := algorithm.ParseOp(t.Op)
	if err != nil {
		return 0, err
	}
	calls := min(max(1, t.Calls), mostCalls)
	r, err := simulate.Run(ctx, simulate.Config{Network: f.Node(t.Ranks), Op: op, Algorithm: t.Algorithm, Ranks: t.Ranks, Bytes: t.Bytes, Calls: calls})
	if err != nil {
		return 0, err
	}
	return r.Seconds / float64(calls), nil
}

// untuned is a table that says nothing, lest the environment's does.
var untuned = &collective.Tuning{Transports: map[string]collective.TransportTuning{"none": {Model: algorithm.Model{Alpha: 1, Beta: 1}}}}

// Cases are collective operations to be timed: each algorithm of each operation that
// moves vectors, and reductions without one, at each of the lengths.
func Cases(lengths []int64) []Timing {
	var all []Timing
	for op := algorithm.Broadcast; op <= algorithm.AllToAll; op++ {
		for _, a := range algorithm.For(op) {
			for _, n := range lengths {
				all = append(all, Timing{Op: op.String(), Algorithm: a.Name, Bytes: n})
			}
		}
		switch op {
		case algorithm.AllReduce, algorithm.Reduce, algorithm.ReduceScatter:
			for _, n := range lengths {
				all = append(all, Timing{Op: op.String(), Algorithm: collective.MergeName, Bytes: n})
			}
		}
	}
	return all
}

// timed times the cases, of any algorithms, over endpoints that open opens, one for
// every algorithm of an operation whose cases come one after another, since a transport
// may learn from messages how it moves others; all ranks call it with the same cases. All
// get the times, but for those of reductions without an algorithm that the transport does not do.
func timed(ctx context.Context, h *host, open func(ctx context.Context, name string) (transport.Endpoint, error), cases []Timing) (all []Timing, err error) {
	var c *collective.Comm
	defer func() {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	fresh := false
	for i, t := range cases {
		op, err := algorithm.ParseOp(t.Op)
		if err != nil {
			return nil, err
		}
		young := i == 0 || t.Op != cases[i-1].Op || t.Algorithm != cases[i-1].Algorithm
		if young {
			if c != nil {
				// Nothing runs any more, and a Comm's watch takes time from the next one's calls.
				if err := errors.Join(c.Barrier(ctx), c.Close()); err != nil {
					return nil, err
				}
				c = nil
			}
			ends, err := open(ctx, fmt.Sprintf("%s %s %d", t.Op, t.Algorithm, i))
			if err != nil {
				return nil, err
			}
			o := collective.Options{Tuning: untuned}
			if t.Algorithm != collective.MergeName {
				o.Algorithms = map[algorithm.Op]string{op: t.Algorithm}
			}
			if c, err = collective.New(ends, o); err != nil {
				return nil, err
			}
			fresh = true
			if err := warm(ctx, c, t); err != nil {
				return nil, err
			}
		}
		if t.Algorithm == collective.MergeName && !c.Merges(op, collective.Float32, max(1, t.Bytes/4)) {
			continue
		}
		t.Transport, t.Ranks = c.Transport(), c.Size()
		if err := h.steady(func() (err error) {
			t.Seconds, t.Calls, err = timeOf(ctx, c, t, fresh)
			return err
		}); err != nil {
			return nil, err
		}
		fresh = false
		t.Rounds = []float64{t.Seconds}
		all = append(all, t)
	}
	return all, nil
}

// timeOf is the median time of a call, and how many calls a trial had; young says that the
// Comm is new.
func timeOf(ctx context.Context, c *collective.Comm, t Timing, young bool) (float64, int, error) {
	run := caller(ctx, c, t)
	all := trials{young: young}
	for all.start(); !all.done; {
		if err := c.Barrier(ctx); err != nil {
			return 0, 0, err
		}
		start := clock()
		for range all.calls {
			if err := run(); err != nil {
				return 0, 0, err
			}
		}
		took := []int64{clock(), -start, int64(time.Since(all.begun))}
		if err := c.AllReduce(ctx, collective.Of(took), collective.Of(took), collective.Max); err != nil {
			return 0, 0, err
		}
		all.add(float64(took[0]+took[1])/1e9, float64(took[2])/1e9)
	}
	return median(all.took), all.calls, nil
}

// warm has a new group's messages go through memory that nobody had touched, which later ones find there: calls
// with the longest messages that a transport carries in memory of its own, and with pieces of longer ones.
func warm(ctx context.Context, c *collective.Comm, t Timing) error {
	if t.Algorithm == collective.MergeName {
		return nil // it has no messages
	}
	for _, n := range []int64{256 << 10, 1 << 20} {
		t.Bytes = n
		run := caller(ctx, c, t)
		for range 2 * learning {
			if err := run(); err != nil {
				return err
			}
		}
	}
	return nil
}

// caller is a call of a case, with vectors of its own.
func caller(ctx context.Context, c *collective.Comm, t Timing) func() error {
	n := max(1, t.Bytes/4)
	block := max(1, n/int64(c.Size()))
	a, b := make([]float32, max(n, block*int64(c.Size()))), make([]float32, max(n, block*int64(c.Size())))
	whole := block * int64(c.Size())
	touch(a, b)
	return func() error {
		switch t.Op {
		case "Broadcast":
			return c.Broadcast(ctx, collective.Of(a[:n]), collective.Of(b[:n]), 0)
		case "Reduce":
			return c.Reduce(ctx, collective.Of(a[:n]), collective.Of(b[:n]), collective.Sum, 0)
		case "AllReduce":
			return c.AllReduce(ctx, collective.Of(a[:n]), collective.Of(b[:n]), collective.Sum)
		case "ReduceScatter":
			return c.ReduceScatter(ctx, collective.Of(a[:whole]), collective.Of(b[:block]), collective.Sum)
		case "AllGather":
			return c.AllGather(ctx, collective.Of(a[:block]), collective.Of(b[:whole]))
		case "Gather":
			return c.Gather(ctx, collective.Of(a[:block]), collective.Of(b[:whole]), 0)
		case "Scatter":
			return c.Scatter(ctx, collective.Of(a[:whole]), collective.Of(b[:block]), 0)
		default:
			return c.AllToAll(ctx, collective.Of(a[:whole]), collective.Of(b[:whole]))
		}
	}
}

// Call measures what a collective call of one rank takes, less what the meter itself adds
// to the messages of an exchange.
func Call(ctx context.Context) (float64, error) {
	c, err := collective.New(inproc.New(1)[0], collective.Options{})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	call, _, err := timeOf(ctx, c, Timing{Op: "AllReduce", Bytes: 8}, false)
	if err != nil {
		return 0, err
	}
	m := (&meter{in: make([]float32, 2), out: make([]float32, 2)}).over(nowhere{})
	own, err := m.middle(func() error { return m.pass(0, 0, 8, false) })
	return max(0, call-own), err
}

// nowhere is an endpoint of one rank whose messages take no time.
type nowhere struct{ transport.Endpoint }

func (nowhere) Rank() int                                          { return 0 }
func (nowhere) Size() int                                          { return 1 }
func (nowhere) Post(int, *transport.Header, []byte) error          { return nil }
func (nowhere) Recv(int, *transport.Header, *transport.Sink) error { return nil }
func (nowhere) Flush(int) error                                    { return nil }
