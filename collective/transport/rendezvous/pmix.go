package rendezvous

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/volley-go/volley/collective/transport/pmix"
)

// PMIx is the address of ranks that meet through the PMIx server that started them. Only
// Discover makes such a World.
const PMIx = "pmix://"

// errOnlyPMIx is Environment's where a PMIx server started the process, and nothing else
// says how many ranks there are.
type errOnlyPMIx struct{ rank string }

func (e *errOnlyPMIx) Error() string {
	return fmt.Sprintf("PMIx says that this is rank %s (PMIX_RANK), and tells the number of ranks only to those who call its library (Discover does): "+
		"set RANK=$PMIX_RANK and WORLD_SIZE, or start with mpirun or srun, whose variables are known", e.rank)
}

// finalizeLimit is for a server that does not answer any more.
const finalizeLimit = 5 * time.Second

// Discover is Environment, which it asks first, for those who can wait. What the environment
// does not say it looks for elsewhere:
//
//   - where the ranks of one machine meet whose launcher names no run (MPICH's and Intel's
//     mpiexec): in a file named after the process that launched them, on Linux;
//   - where ranks of several machines meet that MPICH's or Intel's mpiexec started: through
//     that launcher's server (PMI_FD, the PMI-1 protocol), which Meet has hand the cards around. A
//     process meets once in this way, and may not be an MPI program as well, whose MPI_Init has the same connection:
//     one of those sets VOLLEY_ADDRESS, to mpi:// or to a place;
//   - where ranks of several machines meet that Open MPI or another launcher with a PMIx
//     server started: through that server, which Meet has hand the cards around;
//   - who this process is, where a PMIx server started it and no variables say so: that
//     server says. The place is VOLLEY_ADDRESS or MASTER_ADDR, and without them the server.
//
// The server is asked through OpenPMIx's library (package pmix). done leaves it, and is
// called when the ranks have met.
func Discover(ctx context.Context, getenv func(string) string) (w World, done func() error, err error) {
	none := func() error { return nil }
	w, err = Environment(getenv)
	var only *errOnlyPMIx
	var nowhere *errNowhere
	switch {
	case errors.As(err, &nowhere):
		w = nowhere.world
		if w.LocalSize == w.Size {
			if id := launcherProcess(getenv); id != "" {
				w.ID = id
				w.Address = filePlace(id, getenv)
				return w, none, nil
			}
		}
		if nowhere.by == pmi.name && hasPMI(getenv) {
			return byPMI(ctx, nowhere, getenv)
		}
		if !pmix.Started(getenv) {
			return World{}, none, err
		}
	case !errors.As(err, &only):
		return w, none, err
	}
	said := err
	client, err := pmix.Open(ctx, getenv)
	if err != nil {
		return World{}, none, fmt.Errorf("%w: %w", err, said)
	}
	done = func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalizeLimit)
		defer cancel()
		return client.Close(limited)
	}
	if err := w.ask(client, nowhere, getenv); err != nil {
		return World{}, none, errors.Join(err, done())
	}
	return w, done, nil
}

// hasPMI says that this process, and not one that has started it, has a connection to a PMI server.
func hasPMI(getenv func(string) string) bool {
	return getenv(pmiFD) != "" && getenv(pmiFD) == os.Getenv(pmiFD) && getenv(ofRank[0]) == os.Getenv(ofRank[0])
}

// byPMI is Discover where a PMI server is the only place to meet.
func byPMI(ctx context.Context, said *errNowhere, getenv func(string) string) (w World, done func() error, err error) {
	none := func() error { return nil }
	client, err := openPMI(ctx, getenv)
	if err != nil {
		return World{}, none, fmt.Errorf("%w: %w", err, said)
	}
	w = said.world
	w.pmi, w.Address = client, PMI
	if w.ID == "" {
		w.ID = client.kvs
	}
	return w, func() error {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalizeLimit)
		defer cancel()
		return client.close(limited)
	}, nil
}

// ask makes a World of what the PMIx server says. known is what the environment said
// already, which has to be the same.
func (w *World) ask(client *pmix.Client, known *errNowhere, getenv func(string) string) (err error) {
	if known != nil {
		if client.Rank != w.Rank || client.Size != w.Size {
			return fmt.Errorf("contradiction: %s says rank %d of %d, and its PMIx server rank %d of %d", known.by, w.Rank, w.Size, client.Rank, client.Size)
		}
		w.client, w.Address = client, PMIx
		if w.ID == "" {
			w.ID = client.Namespace
		}
		return nil
	}
	*w = World{Rank: client.Rank, Size: client.Size, LocalRank: client.LocalRank, LocalSize: client.LocalSize, Node: Unknown, ID: client.Namespace, client: client}
	if err := w.check("PMIx"); err != nil || w.Size == 1 {
		return err
	}
	switch host := getenv("MASTER_ADDR"); {
	case getenv("VOLLEY_ADDRESS") != "":
		_, w.Address, err = parse(getenv("VOLLEY_ADDRESS"))
	case host != "":
		w.Address, err = meetingPlace(w, launcher{name: "PMIx"}, getenv)
	default:
		w.Address = PMIx
	}
	return err
}

// meetByPMIx hands cards around through the server. Who may ask it is the launcher's to say:
// OpenPMIx's servers answer processes of the user only.
func meetByPMIx(ctx context.Context, w World, card []byte) (*Table, error) {
	if w.client == nil {
		return nil, errors.New("only a World of Discover has a PMIx server")
	}
	t := &Table{Cards: make([][]byte, w.Size)}
	own := make([]byte, len(t.Key), len(t.Key)+len(card))
	if _, err := rand.Read(own); err != nil {
		return nil, err
	}
	all, err := w.client.Exchange(ctx, append(own, card...))
	if err != nil {
		return nil, err
	}
	return t, t.fill(all)
}
