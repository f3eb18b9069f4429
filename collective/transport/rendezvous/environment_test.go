package rendezvous

import (
	"strings"
	"testing"
)

type variables map[string]string

func (v variables) get(name string) string { return v[name] }

func with(a variables, more ...string) variables {
	all := variables{}
	for k, v := range a {
		all[k] = v
	}
	for _, m := range more {
		k, v, _ := strings.Cut(m, "=")
		all[k] = v
	}
	return all
}

var (
	byTorchrun = variables{"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
		"MASTER_ADDR": "node1", "MASTER_PORT": "1234", "TORCHELASTIC_RUN_ID": "run"}
	byOpenMPI = variables{"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
		"OMPI_MCA_ess_base_jobid": "77"}
	byMPICH = variables{"PMI_RANK": "2", "PMI_SIZE": "3", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "3"}
	bySlurm = variables{"SLURM_PROCID": "9", "SLURM_NTASKS": "16", "SLURM_LOCALID": "1", "SLURM_NODEID": "1", "SLURM_STEP_NODELIST": "gpu[07-08]",
		"SLURM_JOB_ID": "12345", "SLURM_STEP_ID": "2"}
)

func TestEnvironment(t *testing.T) {
	torchrunWorld := World{Rank: 5, Size: 8, LocalRank: 1, LocalSize: 4, Node: 1, Address: "tcp://node1:1234", ID: "run"}
	at := func(w World, address string) World { w.Address = address; return w }
	slurmWorld := World{Rank: 9, Size: 16, LocalRank: 1, LocalSize: Unknown, Node: 1, Address: "tcp://gpu07:26417", ID: "12345.2"}
	local := func(w World, size int) World { w.LocalSize = size; return w }
	onOne := local(slurmWorld, 16)
	onOne.LocalRank, onOne.Node = 9, 0
	ompiWorld := World{Rank: 1, Size: 4, LocalRank: 1, LocalSize: 4, Node: Unknown, ID: "77", Address: "file:///tmp/volley-ada-77"}
	pmiWorld := World{Rank: 2, Size: 3, LocalRank: 2, LocalSize: 3, Node: Unknown, Address: "tcp://127.0.0.1:4000"}
	hand := World{Rank: 1, Size: 2, LocalRank: Unknown, LocalSize: Unknown, Node: Unknown}
	for name, c := range map[string]struct {
		env  variables
		want World
	}{
		"nothing":              {variables{}, World{Rank: 0, Size: 1, LocalSize: 1, Node: Unknown}},
		"torchrun":             {byTorchrun, torchrunWorld},
		"torchrun's own store": {with(byTorchrun, "TORCHELASTIC_USE_AGENT_STORE=True"), at(torchrunWorld, "tcp://node1:1235")},
		"another port":         {with(byTorchrun, "VOLLEY_PORT=99"), at(torchrunWorld, "tcp://node1:99")},
		"another address":      {with(byTorchrun, "VOLLEY_ADDRESS=file:///shared/x"), at(torchrunWorld, "file:///shared/x")},
		"torchrun in a task":   {with(byTorchrun, "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_NODELIST=a,b"), torchrunWorld},
		"by hand":              {variables{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "::1"}, at(hand, "tcp://[::1]:29500")},
		"by hand, agreeing": {with(byMPICH, "RANK=2", "WORLD_SIZE=3", "MASTER_ADDR=h"),
			World{Rank: 2, Size: 3, LocalRank: Unknown, LocalSize: Unknown, Node: Unknown, Address: "tcp://h:29500"}},
		"one rank":              {variables{"RANK": "0", "WORLD_SIZE": "1"}, World{Size: 1, LocalRank: Unknown, LocalSize: Unknown, Node: Unknown}},
		"address says all":      {variables{"VOLLEY_ADDRESS": "tcp://h:1?rank=1&size=2", "RANK": "no"}, at(hand, "tcp://h:1")},
		"Open MPI":              {with(byOpenMPI, "USER=ada"), ompiWorld},
		"Open MPI, folder":      {with(byOpenMPI, "USER=ada", "TMPDIR=/scratch"), at(ompiWorld, "file:///scratch/volley-ada-77")},
		"Open MPI, address":     {with(byOpenMPI, "MASTER_ADDR=h", "MASTER_PORT=5"), at(ompiWorld, "tcp://h:5")},
		"Open MPI, its library": {with(byOpenMPI, "VOLLEY_ADDRESS=mpi://"), at(ompiWorld, MPI)},
		"MPICH, its library":    {with(byMPICH, "VOLLEY_ADDRESS=mpi://"), at(pmiWorld, MPI)},
		"Open MPI, port":        {with(byOpenMPI, "VOLLEY_PORT=4000"), at(ompiWorld, "tcp://127.0.0.1:4000")},
		"Open MPI within srun":  {with(byOpenMPI, "USER=ada", "SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_NODELIST=a"), ompiWorld},
		"PMIx, by hand":         {variables{"PMIX_RANK": "1", "RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "h"}, at(hand, "tcp://h:29500")},
		"PMIx within srun":      {with(bySlurm, "PMIX_RANK=9", "PMIX_NAMESPACE=slurm.pmix.12345.2"), slurmWorld},
		"MPICH":                 {with(byMPICH, "VOLLEY_PORT=4000"), pmiWorld},
		"Slurm":                 {bySlurm, slurmWorld},
		"Slurm's PMI":           {with(bySlurm, "PMI_RANK=9", "PMI_SIZE=16", "PMI_JOBID=12345.2"), slurmWorld},
		"Slurm's PMI, address":  {with(bySlurm, "PMI_RANK=9", "PMI_SIZE=16", "MASTER_ADDR=h"), at(slurmWorld, "tcp://h:29500")},
		"Slurm, tasks":          {with(bySlurm, "SLURM_STEP_TASKS_PER_NODE=8(x2)"), local(slurmWorld, 8)},
		"Slurm, one machine":    {with(bySlurm, "SLURM_STEP_TASKS_PER_NODE=16", "SLURM_NODEID=0", "SLURM_LOCALID=9"), onOne},
		"Slurm, port":           {with(bySlurm, "VOLLEY_PORT=4000"), at(slurmWorld, "tcp://gpu07:4000")},
		"a batch script itself": {variables{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_NODELIST": "a"}, World{Size: 1, LocalSize: 1, Node: Unknown}},
	} {
		if got, err := Environment(c.env.get); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}

func TestEnvironmentRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		env  variables
		want string
	}{
		"PMIx without a size": {variables{"PMIX_RANK": "3", "PMIX_NAMESPACE": "prterun-a-1@1"}, "set RANK=$PMIX_RANK and WORLD_SIZE"},
		"no number":           {with(byTorchrun, "RANK=five"), `RANK is "five"`},
		"negative":            {with(byTorchrun, "LOCAL_RANK=-1"), `LOCAL_RANK is "-1"`},
		"rank past size":      {with(byTorchrun, "RANK=8"), "rank 8 of 8"},
		"too many":            {with(byTorchrun, "WORLD_SIZE=16000000"), "16000000 ranks, at most 65535"},
		"no ranks":            {with(byTorchrun, "WORLD_SIZE=0"), "rank 5 of 0"},
		"local past all":      {with(byTorchrun, "LOCAL_WORLD_SIZE=9"), "9 ranks on this machine of 8"},
		"local past local":    {with(byTorchrun, "LOCAL_RANK=4"), "rank 4 of 4 on this machine"},
		"only rank":           {variables{"RANK": "1"}, "RANK and WORLD_SIZE only one is set"},
		"only size":           {variables{"PMI_SIZE": "1"}, "PMI_RANK and PMI_SIZE only one is set"},
		"port":                {with(byTorchrun, "MASTER_PORT=70000"), `port "70000"`},
		"port 0":              {with(byTorchrun, "MASTER_PORT=0"), `MASTER_PORT: port "0"`},
		"own port":            {with(byTorchrun, "VOLLEY_PORT=x"), `VOLLEY_PORT: port "x"`},
		"store on last port":  {with(byTorchrun, "MASTER_PORT=65535", "TORCHELASTIC_USE_AGENT_STORE=True"), "set VOLLEY_PORT"},
		"no address":          {variables{"RANK": "0", "WORLD_SIZE": "2"}, "set VOLLEY_ADDRESS, or MASTER_ADDR"},
		"MPICH, no address":   {byMPICH, "rank 2 of 3, and nothing where they meet"},
		"several machines":    {with(byOpenMPI, "OMPI_COMM_WORLD_LOCAL_SIZE=2"), "nothing where they meet"},
		"stale rank":          {with(byOpenMPI, "RANK=0", "WORLD_SIZE=1"), "contradiction: RANK=0 and WORLD_SIZE=1, but OMPI_COMM_WORLD_RANK=1"},
		"Open MPI and MPICH":  {with(byOpenMPI, "PMI_RANK=1", "PMI_SIZE=5"), "contradiction"},
		"stale and Slurm":     {with(bySlurm, "RANK=0", "WORLD_SIZE=16"), "contradiction"},
		"hosts":               {with(bySlurm, "SLURM_STEP_NODELIST=a[x"), "SLURM_STEP_NODELIST"},
		"tasks":               {with(bySlurm, "SLURM_STEP_TASKS_PER_NODE=2(x3"), "SLURM_STEP_TASKS_PER_NODE"},
		"PMI of another step": {with(bySlurm, "PMI_RANK=9", "PMI_SIZE=17"), "rank 9 of 17, and nothing where they meet"},
		"Slurm's job":         {with(bySlurm, "SLURM_JOB_ID="), "SLURM_JOB_ID"},
		"where, not who":      {variables{"VOLLEY_ADDRESS": "tcp://h:1"}, "nothing who"},
		"bad address":         {variables{"VOLLEY_ADDRESS": "udp://h:1"}, "VOLLEY_ADDRESS: address"},
		"rank of address":     {variables{"VOLLEY_ADDRESS": "tcp://h:1?rank=2&size=2"}, "rank 2 of 2"},
	} {
		if got, err := Environment(c.env.get); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, c.want)
		}
	}
}

// Discover is Environment where that knows the world; else it asks the server's library, and
// says what it saw where there is none.
func TestDiscover(t *testing.T) {
	w, done, err := Discover(t.Context(), with(byTorchrun, "PMIX_RANK=5").get)
	if err != nil || w.Size != 8 || done() != nil {
		t.Errorf("torchrun within PMIx: %+v, %v", w, err)
	}
	if _, _, err := Discover(t.Context(), with(byTorchrun, "RANK=x").get); err == nil || !strings.Contains(err.Error(), `RANK is "x"`) {
		t.Errorf("a wrong variable: %v", err)
	}
	env := variables{"PMIX_RANK": "1", "PMIX_NAMESPACE": "job", "VOLLEY_PMIX_LIBRARY": "/none/libpmix.so", "VOLLEY_ADDRESS": "tcp://h:1"}
	_, _, err = Discover(t.Context(), env.get)
	for _, want := range []string{"PMIX_RANK=1, PMIX_NAMESPACE=job", "/none/libpmix.so", "set RANK=$PMIX_RANK and WORLD_SIZE"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without the library: %v, want %s", err, want)
		}
	}
	if _, err := Meet(t.Context(), World{Rank: 1, Size: 2, LocalRank: Unknown, LocalSize: Unknown, Address: PMIx}, nil, nil); err == nil || !strings.Contains(err.Error(), "only a World of Discover") {
		t.Errorf("a meeting without a server: %v", err)
	}
}

// Where the environment says who is who and not where, a PMIx server is asked if there is one.
func TestDiscoverNowhere(t *testing.T) {
	apart := with(byOpenMPI, "OMPI_COMM_WORLD_LOCAL_SIZE=2")
	_, _, err := Discover(t.Context(), apart.get)
	if err == nil || !strings.Contains(err.Error(), "rank 1 of 4, and nothing where they meet") || strings.Contains(err.Error(), "PMIx") {
		t.Errorf("no server: %v", err)
	}
	_, _, err = Discover(t.Context(), with(apart, "PMIX_RANK=1", "VOLLEY_PMIX_LIBRARY=/none/libpmix.so").get)
	for _, want := range []string{"/none/libpmix.so", "rank 1 of 4, and nothing where they meet"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no library: %v, want %s", err, want)
		}
	}
	if _, _, err = Discover(t.Context(), byMPICH.get); err == nil || !strings.Contains(err.Error(), "nothing where they meet") {
		t.Errorf("variables of a launcher that did not launch this process: %v", err)
	}
}

func TestTasksOf(t *testing.T) {
	for list, want := range map[string][]int{"4": {4}, "2(x3),1": {2, 2, 2, 1}, "1,16(x2),0": {1, 16, 16, 0}} {
		for node, n := range want {
			if got, err := tasksOf(list, node); err != nil || got != n {
				t.Errorf("%q, machine %d: %d, %v; want %d", list, node, got, err, n)
			}
		}
		if got, err := tasksOf(list, len(want)); err == nil {
			t.Errorf("%q has no machine %d: %d", list, len(want), got)
		}
	}
	for _, list := range []string{"", "x", "-1", "2(x", "2(x)", "2x3", "2(x3", "1,,2", "2(x-1),1"} {
		if got, err := tasksOf(list, 1); err == nil {
			t.Errorf("%q: %d", list, got)
		}
	}
}

func TestParse(t *testing.T) {
	for address, want := range map[string]World{
		"tcp://h:1?rank=0&size=2":          {Size: 2, Address: "tcp://h:1"},
		"tcp://[fd00::2]:80?rank=1&size=2": {Rank: 1, Size: 2, Address: "tcp://[fd00::2]:80"},
		"mpi://?rank=1&size=2":             {Rank: 1, Size: 2, Address: MPI},
		"file:///a%20b?size=1&rank=0":      {Size: 1, Address: "file:///a b"},
	} {
		want.LocalRank, want.LocalSize, want.Node = Unknown, Unknown, Unknown
		if got, err := Parse(address); err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "h:1", "tcp://h", "tcp://:1?rank=0&size=1", "tcp://h:0?rank=0&size=1", "tcp://h:1/x?rank=0&size=1", "file://h/x?rank=0&size=1",
		"file:x?rank=0&size=1", "tcp://h:1", "tcp://h:1?rank=0", "tcp://h:1?rank=0&size=1&rank=0", "tcp://h:1?rank=0&size=1&x=1", "tcp://h:1?rank=a&size=1",
		"tcp://h:1?rank=1&size=1", "tcp://h:1?rank=%", "tcp://h:x", "mpi://h?rank=0&size=2", "mpi:///x?rank=0&size=2", "mpi:x"} {
		if got, err := Parse(address); err == nil {
			t.Errorf("%q is taken for %+v", address, got)
		}
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"one": "one", "one,two": "one", "n[3-5]": "n3", "n[003-010,012],other": "n003", "n[7,9]": "n7", "r[1-2]n[03-04]-ib": "r1n03-ib", "a-b-1,c": "a-b-1",
		"": "", "n[": "", "n[x]": "", "n]": "", "[1": "", "n[]": "", ",": "",
	} {
		if got, err := firstHost(list); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", list, got, err, want)
		}
	}
}
