package collective

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/secret"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/device"
)

// The variables of the environment that Init reads beside the launcher's.
const (
	transportVariable = "VOLLEY_TRANSPORT"
	secretVariable    = "VOLLEY_SECRET_FILE"
	machineVariable   = "VOLLEY_MACHINE"
)

// Init makes the Comm of all ranks that a launcher has started: torchrun, volley
// launch, mpirun, srun, prun (PMIx), or variables set by hand, as rendezvous.Discover
// says. Without any there is one rank. Every rank calls it, with the same options (at most
// one). Ranks that do not come before ctx ends, or, where it has no deadline, within
// Options.JoinTimeout, are named in the error, which is an ErrUnavailable. After Options.Stall the waiting
// is reported as that of operations is.
//
// Ranks that find themselves on one machine talk through shared memory, those of different
// machines over TCP (package collective/transport/mixed): Transport says "shm" where all are on one, "tcp" where no
// two are, else "shm+tcp", and Explain why ranks of one machine do without its memory, if they do: one that cannot have it,
// such as where /dev/shm is too small, leaves all of them with TCP.
// VOLLEY_TRANSPORT=shm or tcp has one way alone instead, and VOLLEY_SOCKET_CONNECTIONS how many
// connections TCP has between two ranks, from 2 (the default) to 17. VOLLEY_MACHINE names a rank's
// machine: ranks of different names go over TCP, and hierarchical algorithms go by it. VOLLEY_SECRET_FILE
// names a file with at least 16 random bytes that all ranks have and nobody else: with it
// the meeting and everything over TCP is encrypted, nobody joins who does not know it, and
// shared memory is for ranks that met so.
// Ranks over MPI (mpi://) are not joined here: MPI has an end that the program must call.
func Init(ctx context.Context, options ...Options) (*Comm, error) {
	return initialize(ctx, os.Getenv, options)
}

// InitFrom is Init with variables of getenv in place of the environment's: for
// programs that are told by other means where the ranks meet. VOLLEY_ADDRESS, as
// tcp://host:port?rank=0&size=2, says all that it takes.
func InitFrom(ctx context.Context, getenv func(string) string, options ...Options) (*Comm, error) {
	return initialize(ctx, getenv, options)
}

func initialize(ctx context.Context, getenv func(string) string, options []Options) (*Comm, error) {
	const call = "collective.Init"
	if len(options) > 1 {
		return nil, device.Errorf(device.ErrMismatch, "", call, "%d options, at most one is meant", len(options))
	}
	var o Options
	if len(options) == 1 {
		o = options[0]
	}
	ends, err := joinWorld(ctx, getenv, o)
	if err != nil {
		return nil, &device.Error{Call: call, Kind: device.ErrUnavailable, Cause: err}
	}
	c, err := New(ends, o)
	if err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	return c, nil
}

// joinWorld is this rank's end of the world that the environment tells of.
func joinWorld(ctx context.Context, getenv func(string) string, o Options) (transport.Endpoint, error) {
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	w, done, err := rendezvous.Discover(ctx, getenv)
	if err != nil {
		return nil, err
	}
	ends, err := joinAsOne(ctx, w, o, func(ctx context.Context) (transport.Endpoint, error) { return joinAs(ctx, w, getenv) })
	if err != nil {
		go done() // a launcher may keep who has given up, and the caller is told now
		return nil, err
	}
	if err := done(); err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	return ends, nil
}

func joinAsOne(ctx context.Context, w rendezvous.World, o Options, join func(ctx context.Context) (transport.Endpoint, error)) (transport.Endpoint, error) {
	return o.meetAs(ctx, "Init", "world", w.Rank, w.Size, 0, func() {}, join)
}

// Join is Init for a program that knows its rank and where the ranks meet. The secret, of at least 16 random bytes, is as VOLLEY_SECRET_FILE's;
// nil is none. What carries the messages is what Init would take, by the environment's other variables.
func Join(ctx context.Context, w rendezvous.World, known []byte, options Options) (*Comm, error) {
	const call = "collective.Join"
	ctx, cancel := options.bounded(ctx)
	defer cancel()
	ends, err := joinAsOne(ctx, w, options, func(ctx context.Context) (transport.Endpoint, error) { return joinKnowing(ctx, w, known, os.Getenv) })
	if err != nil {
		return nil, &device.Error{Call: call, Kind: device.ErrUnavailable, Cause: err}
	}
	c, err := New(ends, options)
	if err != nil {
		return nil, errors.Join(err, ends.Close())
	}
	return c, nil
}

// joinAs is joinWorld for who knows who it is.
func joinAs(ctx context.Context, w rendezvous.World, getenv func(string) string) (_ transport.Endpoint, err error) {
	if w.Address == rendezvous.MPI {
		return nil, errors.New("VOLLEY_ADDRESS is mpi://: join with package collective/transport/mpi, whose Finalize the program has to call at its end, and give the endpoint to New")
	}
	var known []byte
	if path := getenv(secretVariable); path != "" {
		if known, err = readSecret(path); err != nil {
			return nil, fmt.Errorf("%s: %w", secretVariable, err)
		}
		if len(known) < secret.Least {
			return nil, fmt.Errorf("%s: %s has %d bytes, at least %d random ones are needed", secretVariable, path, len(known), secret.Least)
		}
	}
	return joinKnowing(ctx, w, known, getenv)
}

// joinKnowing is joinAs for who knows the secret.
func joinKnowing(ctx context.Context, w rendezvous.World, known []byte, getenv func(string) string) (transport.Endpoint, error) {
	carrier := getenv(transportVariable)
	switch carrier {
	case "", "shm", "tcp":
	default:
		return nil, fmt.Errorf("%s is %q: there are shm and tcp, and unset for whichever fits", transportVariable, carrier)
	}
	if w.Size == 1 {
		return inproc.New(1)[0], nil
	}
	if carrier == "shm" || carrier == "" && w.LocalSize == w.Size {
		ends, err := joinMachine(ctx, w, known)
		switch {
		case err == nil:
			return ends, nil
		case carrier == "shm" && (errors.Is(err, shm.ErrApart) || errors.Is(err, shm.ErrUnable)):
			return nil, fmt.Errorf("%s is shm: %w", transportVariable, err)
		case !errors.Is(err, shm.ErrApart) && !errors.Is(err, shm.ErrUnable):
			return nil, err
		}
		w = w.Again()
	}
	connections, err := tcp.Connections(getenv)
	if err != nil {
		return nil, err
	}
	o := tcp.Options{Secret: known, Machine: getenv(machineVariable), Connections: connections}
	if carrier == "tcp" {
		return tcp.Join(ctx, w, o)
	}
	return mixed.Join(ctx, w, o)
}

// longestSecret bounds what is read of a file that may be a device, in bytes.
const longestSecret = 1 << 20

func readSecret(path string) (known []byte, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	known, err = io.ReadAll(io.LimitReader(file, longestSecret+1))
	if err == nil && len(known) > longestSecret {
		err = fmt.Errorf("%s has more than %d bytes", path, longestSecret)
	}
	return known, err
}

// joinMachine meets the other ranks and joins them through shared memory. The error is shm.ErrApart or shm.ErrUnable, and on
// all ranks so, where not all of them can.
func joinMachine(ctx context.Context, w rendezvous.World, known []byte) (transport.Endpoint, error) {
	g, err := secret.New(known)
	if err != nil {
		return nil, err
	}
	own := shm.NewOffer(w.Rank, w.Size)
	table, err := rendezvous.Meet(ctx, w, g, own.Card())
	if err != nil {
		own.Withdraw()
		return nil, err
	}
	for r, card := range table.Cards {
		if bytes.HasPrefix(card, []byte("{")) {
			own.Withdraw()
			return nil, fmt.Errorf("rank %d joins through shared memory and rank %d over TCP: VOLLEY_TRANSPORT and LOCAL_WORLD_SIZE must say the same on all ranks", w.Rank, r)
		}
	}
	return own.Join(ctx, table.Cards)
}
