package collective

import (
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
)

// Options are a Comm's settings; all ranks give the same. The zero Options are the
// defaults.
type Options struct {
	// Deterministic makes floating-point reductions bit for bit the same for every
	// algorithm, chunking and transport.
	Deterministic bool
	// Algorithms names the algorithm of an operation; the model picks for the others.
	Algorithms map[algorithm.Op]string
	// Tuning is what was measured on this machine, by which algorithms are chosen that
	// Algorithms does not name; nil takes the file that the environment's
	// VOLLEY_COLLECTIVE_TUNING names, else rough figures of the transports.
	Tuning *Tuning
	// Chunk is the bytes of a pipeline's piece, 0 for the default of 256 KiB.
	Chunk int
	// Heartbeat is how often a rank shows the others that it lives; 0 is once a
	// second. A rank that is silent for Deadline (0 is 5 seconds) is lost.
	Heartbeat, Deadline time.Duration
	// Timeout ends an operation that a living rank has not joined for so long; 0 is
	// half an hour, a negative one never.
	Timeout time.Duration
	// JoinTimeout is how long Init, Grow and Enter wait for ranks to come where their context has no
	// deadline: ranks may take minutes to start that are late by seconds once they run. 0 is
	// Timeout, a negative one never.
	JoinTimeout time.Duration
	// Stall is after how long an operation, or an Init, Grow or Enter, that waits is reported to OnStall, once; 0
	// is 5 seconds. Without an OnStall an Init, Grow or Enter prints to standard error who has not come, and
	// operations do if the environment's VOLLEY_STALL_REPORT is 1, or after how long, as 10s; where that is 0 nothing is printed.
	Stall   time.Duration
	OnStall func(Stall)
	// Checksum sends a CRC-32C with every message, also on transports whose bytes
	// never leave the machine's memory.
	Checksum bool
	// Wire is Float16 or BFloat16 to send float32 vectors of reductions in half the
	// bytes: every rank's contribution and every partial result is rounded. 0 sends
	// them as they are, and so do reductions that a device's kernels or NCCL do (package
	// ondevice), whatever it is.
	Wire Type
	// Timeline records what operations spend their time on; nil records nothing, unless
	// the environment's VOLLEY_TIMELINE is set: then a Comm made by New writes that name
	// and ".rank.json". Every rank has a Recorder of its own, which is closed after its
	// Comms. Payloads of a Comm that is recorded are copied once more on transports that
	// would place them directly.
	Timeline *timeline.Recorder

	printsStalls bool // OnStall is that of reportStalls
}

// Stall is an operation that waits for longer than Options.Stall.
type Stall struct {
	Op      string
	Seq     uint64
	Step    int
	Waiting int   // the rank that this one waits for, which may itself wait
	Absent  []int // the ranks that have not begun the operation, by their last heartbeats
	Elapsed time.Duration
}

func (o Options) filled() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&o.Heartbeat, time.Second)
	set(&o.Deadline, 5*time.Second)
	set(&o.Stall, 5*time.Second)
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Minute
	}
	if o.Chunk <= 0 {
		o.Chunk = 256 << 10
	}
	return o
}
