package rendezvous

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/volley-go/volley/collective/transport/pmix"
)

// Unknown is a LocalRank, LocalSize or Node that nobody said.
const Unknown = -1

// MPI is the address of ranks that an MPI library brings together (package mpi): they
// need no meeting.
const MPI = "mpi://"

// World is one rank's place among all ranks.
type World struct {
	Rank, Size           int
	LocalRank, LocalSize int    // among the ranks of this machine, or Unknown
	Node                 int    // the machine's number, or Unknown
	Address              string // tcp://host:port, file://path, mpi://, pmix:// or pmi://; empty where Size is 1
	ID                   string // what the launcher calls this run: all ranks have the same, other runs another; may be empty

	// Listener, where there is one, is what rank 0 listens with for a meeting at tcp://, in place of opening the address's port; the caller's,
	// and open for the next meeting when one has ended.
	Listener net.Listener

	client *pmix.Client // of Discover, where a PMIx server says who is who
	pmi    *pmiClient   // of Discover, where the ranks meet through a PMI server
}

// Parse takes a place apart that says who is there:
// tcp://host:port?rank=0&size=4 or file:///path?rank=0&size=4.
func Parse(address string) (World, error) {
	w, place, err := parse(address)
	if err != nil {
		return World{}, err
	}
	if w == nil {
		return World{}, fmt.Errorf("address %q: rank and size are missing: %s?rank=0&size=1", address, place)
	}
	return *w, w.check("address " + address)
}

// parse gives the address without its query; w is nil where the query has neither
// rank nor size.
func parse(address string) (w *World, place string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", fmt.Errorf("address %q: %w", address, err)
	}
	switch u.Scheme {
	case "tcp":
		if err := checkPort(u.Port()); u.Hostname() == "" || err != nil || u.Path != "" {
			return nil, "", fmt.Errorf("address %q is not tcp://host:port", address)
		}
		place = "tcp://" + u.Host
	case "file":
		if u.Host != "" || u.Path == "" || u.Path[0] != '/' {
			return nil, "", fmt.Errorf("address %q is not file:///path", address)
		}
		place = "file://" + u.Path
	case "mpi":
		if u.Host != "" || u.Path != "" {
			return nil, "", fmt.Errorf("address %q is more than %s", address, MPI)
		}
		place = MPI
	default:
		return nil, "", fmt.Errorf("address %q is neither tcp://host:port nor file:///path nor %s", address, MPI)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, "", fmt.Errorf("address %q: %w", address, err)
	}
	for name := range q {
		if name != "rank" && name != "size" || len(q[name]) != 1 {
			return nil, "", fmt.Errorf("address %q: rank and size, once each, are what it may say, not %q", address, name)
		}
	}
	if len(q) == 0 {
		return nil, place, nil
	}
	w = &World{LocalRank: Unknown, LocalSize: Unknown, Node: Unknown, Address: place}
	if w.Rank, err = number("rank of "+address, q.Get("rank")); err != nil {
		return nil, "", err
	}
	if w.Size, err = number("size of "+address, q.Get("size")); err != nil {
		return nil, "", err
	}
	return w, place, nil
}

// Again is the world for a second meeting of the same ranks. A file's is in a file of its own: rank 0 would begin it anew
// in the first one before the others have read what the first meeting ended with.
func (w World) Again() World {
	if strings.HasPrefix(w.Address, "file://") {
		w.Address += ".again"
	}
	return w
}

// mostRanks is how many a world can have.
const mostRanks = 1<<16 - 1

// check holds the numbers against each other.
func (w *World) check(source string) error {
	switch {
	case w.Size > mostRanks:
		return fmt.Errorf("%s: %d ranks, at most %d can be", source, w.Size, mostRanks)
	case w.Size < 1 || w.Rank >= w.Size:
		return fmt.Errorf("%s: rank %d of %d", source, w.Rank, w.Size)
	case w.LocalSize > w.Size:
		return fmt.Errorf("%s: %d ranks on this machine of %d", source, w.LocalSize, w.Size)
	case w.LocalSize != Unknown && (w.LocalRank >= w.LocalSize || w.LocalSize < 1):
		return fmt.Errorf("%s: rank %d of %d on this machine", source, w.LocalRank, w.LocalSize)
	}
	return nil
}

// number is a number that is at least 0.
func number(name, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<24 {
		return 0, fmt.Errorf("%s is %q, not a number from 0 on", name, text)
	}
	return n, nil
}

func checkPort(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 65535 {
		return fmt.Errorf("port %q is not a number from 1 to 65535", text)
	}
	return nil
}

func tcpAddress(host, port string) string { return "tcp://" + net.JoinHostPort(host, port) }
