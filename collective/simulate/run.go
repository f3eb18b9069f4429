package simulate

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
)

// Config is a call on a network. The zero value of each field but the first four is
// its default.
type Config struct {
	Network   *Network
	Op        algorithm.Op
	Algorithm string // its name, as package algorithm has it
	Ranks     int
	// Bytes is the length of the whole vector, of all blocks together where the
	// operation has blocks; each block has at least one element.
	Bytes         int64
	Width         int64 // bytes of an element, 4
	Chunk         int64 // bytes of a pipeline's piece, 256 KiB
	Root          int
	Deterministic bool
	Calls         int // calls back to back; Result.Seconds is of all of them
	Stragglers    []Straggler
	Failure       *Failure
	Options       collective.Options // Heartbeat and Deadline, which a Failure's end depends on
	Samples       int                // tracked positions of a rank's result at most, 16
	Seed          uint64             // of the positions
	Memory        int64              // bytes that the simulation may take, 4 GiB
}

// Straggler is a slow rank: its processor's times are Slow times as long (below 1 is
// 1), and it enters the call Late.
type Straggler struct {
	Rank int
	Slow float64
	Late time.Duration
}

// Result is what a call took. Times are virtual seconds.
type Result struct {
	Algorithm string
	Seconds   float64 // until the last rank was done
	First     float64 // until the first was
	Rounds    int     // of the rank that had most
	Messages  int64
	Bytes     int64   // sent by all ranks
	MostBytes int64   // sent by the rank that sent most
	Links     []Usage // by kind; none where there is one node
	Checked   int64   // positions of results that were found to hold what they must
	Verdict   *Verdict
	Events    int64
}

// Usage is how busy the links of a kind were: the share of the call's time in which
// they carried bytes.
type Usage struct {
	Kind  string
	Links int
	Mean  float64 // of those that were used
	Most  float64
	Used  int
}

func (c *Config) fill() {
	set := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&c.Width, 4)
	set(&c.Chunk, 256<<10)
	set(&c.Memory, 4<<30)
	if c.Samples <= 0 {
		c.Samples = 16
	}
	if c.Options.Heartbeat <= 0 {
		c.Options.Heartbeat = time.Second
	}
	if c.Options.Deadline <= 0 {
		c.Options.Deadline = 5 * time.Second
	}
}

// call is the call as every rank makes it, or what is wrong with it.
func (c *Config) call() (algorithm.Call, *algorithm.Algorithm, error) {
	wrong := func(format string, args ...any) error {
		return device.Errorf(device.ErrMismatch, "", "simulate", format, args...)
	}
	if c.Network == nil || c.Ranks < 1 || c.Bytes < 0 {
		return algorithm.Call{}, nil, wrong("%d ranks and %d bytes on network %v", c.Ranks, c.Bytes, c.Network)
	}
	if err := c.Network.check(c.Ranks); err != nil {
		return algorithm.Call{}, nil, wrong("%v", err)
	}
	if c.Root < 0 || c.Root >= c.Ranks {
		return algorithm.Call{}, nil, wrong("root %d is not one of %d ranks", c.Root, c.Ranks)
	}
	if f := c.Failure; f != nil && (f.Rank < 0 || f.Rank >= c.Ranks || c.Ranks < 2 || f.Step < 0) {
		return algorithm.Call{}, nil, wrong("rank %d of %d cannot fail in round %d", f.Rank, c.Ranks, f.Step)
	}
	for _, s := range c.Stragglers {
		if s.Rank < 0 || s.Rank >= c.Ranks || s.Late < 0 || math.IsNaN(s.Slow) || math.IsInf(s.Slow, 0) {
			return algorithm.Call{}, nil, wrong("straggler %+v of %d ranks", s, c.Ranks)
		}
	}
	with, err := algorithm.Named(c.Algorithm, c.Op)
	if err != nil {
		return algorithm.Call{}, nil, &device.Error{Call: "simulate", Kind: device.ErrUnsupported, Cause: err}
	}
	call := algorithm.Call{Op: c.Op, Size: c.Ranks, Root: c.Root, Count: (c.Bytes + c.Width - 1) / c.Width, Chunk: max(1, c.Chunk/c.Width), Deterministic: c.Deterministic}
	if c.Op >= algorithm.ReduceScatter {
		call.Count = max(1, call.Count/int64(c.Ranks))
	}
	if c.Op == algorithm.Barrier {
		call.Count = 0
	}
	if c.Network.Nodes > 1 && c.Network.PerNode > 1 {
		of := make([]int, c.Ranks)
		for r := range of {
			of[r] = r / c.Network.PerNode
		}
		call.Nodes = algorithm.NewMachines(of)
	}
	return call, with, c.fits(call, with)
}

// Memory that a simulation takes, estimated: of a rank, of a message and of a local
// step.
const (
	rankBytes    = 16 << 10 // its coroutine above all
	messageBytes = 256
	localBytes   = 72
)

// fits refuses a schedule whose rounds are so long that those of all ranks do not
// fit into memory together.
func (c *Config) fits(call algorithm.Call, with *algorithm.Algorithm) error {
	longest := func(rank int) (messages, locals int) {
		of := call
		of.Rank = rank
		for r := range with.Plan(of).Rounds {
			messages = max(messages, len(r.Sends)+len(r.Recvs))
			locals = max(locals, len(r.Local)+len(r.Late))
		}
		return messages, locals
	}
	// Roots may have long rounds; what two ranks have that are none is taken for all.
	common, steps := longest((call.Root + 1) % call.Size)
	other, more := longest((call.Root + call.Size/2) % call.Size)
	need := int64(call.Size)*(rankBytes+messageBytes*int64(min(common, other))) + localBytes*int64(max(steps, more))
	if need > c.Memory {
		return device.Errorf(device.ErrOutOfMemory, "", "simulate",
			"%s of %s on %d ranks has rounds of %d messages a rank: %d MiB are needed, %d MiB allowed",
			with.Name, call.Op, call.Size, min(common, other), need>>20, c.Memory>>20)
	}
	return nil
}

// Run simulates a call. It is an error if a rank's result is not what the operation
// means (device.ErrMismatch), if the schedules of all ranks do not fit into
// Config.Memory (device.ErrOutOfMemory), or if ctx ends.
func Run(ctx context.Context, c Config) (*Result, error) {
	c.fill()
	call, with, err := c.call()
	if err != nil {
		return nil, err
	}
	e := newEngine(&c, call, with)
	defer e.close()
	if err := e.run(ctx); err != nil {
		return nil, fmt.Errorf("%s of %s on %d ranks of %s: %w", with.Name, c.Op, c.Ranks, c.Network.Name, err)
	}
	r := &Result{Algorithm: with.Name, First: math.Inf(1), Checked: e.samples.checked, Events: int64(e.events.seq)}
	for i := range e.ranks {
		k := &e.ranks[i]
		r.Messages += k.sent
		r.Bytes += k.bytes
		r.MostBytes = max(r.MostBytes, k.bytes)
		r.Rounds = max(r.Rounds, int(k.steps))
		r.Seconds, r.First = max(r.Seconds, k.clock), min(r.First, k.clock)
	}
	if c.Failure != nil {
		r.Verdict = e.settle(c.Options, c.Op)
	}
	r.Links = e.usage(r.Seconds)
	return r, nil
}

// usage is how busy the links were.
func (e *engine) usage(whole float64) []Usage {
	all := make([]Usage, len(e.net.kinds))
	for i, kind := range e.net.kinds {
		all[i].Kind = kind
	}
	for l, busy := range e.busy {
		u := &all[e.net.links[l].kind]
		u.Links++
		if busy > 0 && whole > 0 {
			u.Used++
			u.Mean += busy / whole
			u.Most = max(u.Most, busy/whole)
		}
	}
	for i := range all {
		all[i].Mean /= float64(max(1, all[i].Used))
	}
	return all
}
