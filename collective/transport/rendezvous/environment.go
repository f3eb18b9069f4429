package rendezvous

import (
	"errors"
	"fmt"
	"strconv"
)

// defaultPort is torchrun's.
const defaultPort = "29500"

// launcher is one set of variables.
type launcher struct {
	name                 string
	rank, size           string
	localRank, localSize string
	node                 string
	id                   []string // the first that is set
	needs                string   // must be set besides, else the set is somebody else's
	tasks                string   // the ranks of every machine, of which node is one: "2(x3),1"
}

var (
	torchrun = launcher{name: "torchrun", rank: "RANK", size: "WORLD_SIZE", localRank: "LOCAL_RANK", localSize: "LOCAL_WORLD_SIZE",
		node: "GROUP_RANK", id: []string{"VOLLEY_RUN_ID", "TORCHELASTIC_RUN_ID"}}
	openMPI = launcher{name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE", localRank: "OMPI_COMM_WORLD_LOCAL_RANK",
		localSize: "OMPI_COMM_WORLD_LOCAL_SIZE", id: []string{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}}
	pmi = launcher{name: "PMI", rank: "PMI_RANK", size: "PMI_SIZE", localRank: "MPI_LOCALRANKID", localSize: "MPI_LOCALNRANKS",
		id: []string{"PMI_JOBID"}}
	// A batch script has SLURM_PROCID and SLURM_NTASKS too without being one of the
	// tasks: only srun sets the nodes of a step.
	slurm = launcher{name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_NTASKS", localRank: "SLURM_LOCALID", node: "SLURM_NODEID",
		needs: "SLURM_STEP_NODELIST", tasks: "SLURM_STEP_TASKS_PER_NODE"}
)

// Environment says who this process is, from the variables of what started it:
//
//   - VOLLEY_ADDRESS: tcp://host:port, file:///path or mpi://, with ?rank=&size= or without;
//   - torchrun, volley launch, or set by hand: RANK, WORLD_SIZE, LOCAL_RANK,
//     LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT (29500);
//   - Open MPI: OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE;
//   - PMI (MPICH, Intel MPI): PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS;
//   - PMIx (prun) has a rank, PMIX_RANK, and no number of ranks in the environment: with it
//     alone this is an error, and Discover asks the server;
//   - Slurm's srun: SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID, SLURM_NODEID,
//     SLURM_STEP_TASKS_PER_NODE and the first host of SLURM_STEP_NODELIST.
//
// The first set that is there counts; but Slurm's, which says more, where it says the same
// rank and size as PMI's (srun --mpi=pmi2). A rank and size set by hand must agree with the
// others' that are there, since one of them is stale; torchrun's and volley launch's,
// known by their run's id, may differ, since they start ranks within a task of another
// launcher, and so may Open MPI's and PMI's from Slurm's.
//
// The place is VOLLEY_ADDRESS; else MASTER_ADDR; else, with Slurm, the step's first
// host; else this machine, if the launcher says that all ranks are on it and
// VOLLEY_PORT is set, or the launcher names the run: then it is a file in TMPDIR.
// VOLLEY_PORT goes before MASTER_PORT. Under torchrun whose agent keeps its own
// store on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE) it is the port after that.
// Without VOLLEY_PORT a Slurm step's is 20000 to 29999, by its job's number. Where none of
// these says a place that is an error; Discover looks for one beyond the environment.
//
// Nothing set is one rank. getenv is os.Getenv, or what a test says.
func Environment(getenv func(string) string) (World, error) {
	alone := World{Size: 1, LocalSize: 1, Node: Unknown}
	var place string
	if address := getenv("VOLLEY_ADDRESS"); address != "" {
		w, p, err := parse(address)
		if err != nil {
			return World{}, fmt.Errorf("VOLLEY_ADDRESS: %w", err)
		}
		if w != nil {
			return *w, w.check("VOLLEY_ADDRESS")
		}
		place = p
	}
	var found []World
	var by []launcher
	for _, l := range []launcher{torchrun, openMPI, pmi, slurm} {
		w, err := l.world(getenv)
		if err != nil {
			return World{}, err
		}
		if w != nil {
			found, by = append(found, *w), append(by, l)
		}
	}
	if len(found) == 0 {
		if rank := getenv("PMIX_RANK"); rank != "" { // not alone, as far as one can tell
			return World{}, &errOnlyPMIx{rank}
		}
		if place != "" {
			return World{}, errors.New("VOLLEY_ADDRESS says where, and nothing who: set RANK and WORLD_SIZE, or use a launcher")
		}
		return alone, nil
	}
	if err := agree(found, by); err != nil {
		return World{}, err
	}
	w, launched := found[0], by[0]
	if last := len(found) - 1; launched.name == pmi.name && by[last].name == slurm.name && found[last].Rank == w.Rank && found[last].Size == w.Size {
		w, launched = found[last], by[last]
	}
	if w.Size == 1 {
		w.Address = ""
		return w, nil
	}
	if place == "" {
		var err error
		if place, err = meetingPlace(&w, launched, getenv); err != nil {
			return World{}, err
		}
	}
	w.Address = place
	return w, nil
}

// world is what a set of variables says; nil where it is not there.
func (l *launcher) world(getenv func(string) string) (*World, error) {
	rank, size := getenv(l.rank), getenv(l.size)
	if rank == "" && size == "" || l.needs != "" && getenv(l.needs) == "" {
		return nil, nil
	}
	if rank == "" || size == "" {
		return nil, fmt.Errorf("%s: of %s and %s only one is set", l.name, l.rank, l.size)
	}
	w := &World{LocalRank: Unknown, LocalSize: Unknown, Node: Unknown}
	for _, v := range []struct {
		name string
		to   *int
	}{{l.rank, &w.Rank}, {l.size, &w.Size}, {l.localRank, &w.LocalRank}, {l.localSize, &w.LocalSize}, {l.node, &w.Node}} {
		if v.name == "" || getenv(v.name) == "" {
			continue
		}
		var err error
		if *v.to, err = number(v.name, getenv(v.name)); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
	}
	for _, name := range l.id {
		if w.ID == "" {
			w.ID = getenv(name)
		}
	}
	if l.name == slurm.name {
		w.ID = slurmID(getenv)
	}
	if list := getenv(l.tasks); l.tasks != "" && list != "" && w.Node != Unknown {
		var err error
		if w.LocalSize, err = tasksOf(list, w.Node); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", l.name, l.tasks, err)
		}
	}
	return w, w.check(l.name + " (" + l.rank + ", " + l.size + ")")
}

// agree finds contradictions between sets that cannot be one launcher within another.
func agree(found []World, by []launcher) error {
	for i := range found {
		for j := i + 1; j < len(found); j++ {
			a, b := &found[i], &found[j]
			nested := by[i].name == torchrun.name && a.ID != "" || by[j].name == slurm.name && by[i].name != torchrun.name
			if !nested && (a.Rank != b.Rank || a.Size != b.Size) {
				return fmt.Errorf("contradiction: %s=%d and %s=%d, but %s=%d and %s=%d: unset those that are stale",
					by[i].rank, a.Rank, by[i].size, a.Size, by[j].rank, b.Rank, by[j].size, b.Size)
			}
		}
	}
	return nil
}

// meetingPlace is the address where none is given whole.
func meetingPlace(w *World, by launcher, getenv func(string) string) (string, error) {
	own := getenv("VOLLEY_PORT")
	if own != "" {
		if err := checkPort(own); err != nil {
			return "", fmt.Errorf("VOLLEY_PORT: %w", err)
		}
	}
	if host := getenv("MASTER_ADDR"); host != "" {
		port, err := masterPort(own, getenv)
		return tcpAddress(host, port), err
	}
	switch {
	case by.name == slurm.name:
		host, err := firstHost(getenv("SLURM_STEP_NODELIST"))
		if err != nil {
			return "", fmt.Errorf("SLURM_STEP_NODELIST: %w", err)
		}
		if own == "" {
			if own, err = slurmPort(getenv); err != nil {
				return "", err
			}
		}
		return tcpAddress(host, own), nil
	case w.LocalSize == w.Size && own != "":
		return tcpAddress("127.0.0.1", own), nil
	case w.LocalSize == w.Size && w.ID != "":
		return filePlace(w.ID, getenv), nil
	}
	return "", &errNowhere{by.name, *w}
}

// errNowhere is Environment's where it says who is who and nothing says where they meet.
type errNowhere struct {
	by    string
	world World
}

func (e *errNowhere) Error() string {
	return fmt.Sprintf("%s says that this is rank %d of %d, and nothing where they meet: set VOLLEY_ADDRESS, or MASTER_ADDR and MASTER_PORT",
		e.by, e.world.Rank, e.world.Size)
}

func masterPort(own string, getenv func(string) string) (string, error) {
	if own != "" {
		return own, nil
	}
	port := getenv("MASTER_PORT")
	if port == "" {
		return defaultPort, nil
	}
	if err := checkPort(port); err != nil {
		return "", fmt.Errorf("MASTER_PORT: %w", err)
	}
	if getenv("TORCHELASTIC_USE_AGENT_STORE") == "True" {
		n, err := strconv.Atoi(port)
		if err != nil || n == 65535 {
			return "", fmt.Errorf("MASTER_PORT is %s, which torchrun itself listens on: set VOLLEY_PORT", port)
		}
		return strconv.Itoa(n + 1), nil
	}
	return port, nil
}

// filePlace is a file that the ranks of one run on one machine find.
func filePlace(id string, getenv func(string) string) string {
	dir := getenv("TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	name := []byte("volley-" + getenv("USER") + "-" + id)
	for i, c := range name {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.') {
			name[i] = '-'
		}
	}
	return "file://" + dir + "/" + string(name)
}
