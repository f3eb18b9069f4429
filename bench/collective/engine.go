package collective

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// workers are the peers' ranks.
//
//go:embed worker/mpi.c worker/gloo.py
var workers embed.FS

// engine is a library over a transport.
type engine struct {
	name, device string
	together     bool // one process starts or is all ranks, and pins them itself
	// commands are what is to be started for a number of ranks that answer at a socket.
	commands func(ranks int, socket string) ([][]string, error)
}

// Peers lists the libraries to race against.
func Peers() []string { return []string{"openmpi", "mpich", "gloo"} }

// Devices lists our transports: those that this system has.
func Devices() []string {
	if runtime.GOOS == "linux" {
		return []string{"shm", "tcp", "inproc"}
	}
	return []string{"tcp", "inproc"}
}

// Launched lists our transports that need another library's launcher: they are measured
// where they are asked for by name.
func Launched() []string { return []string{"mpi"} }

// Places says where the peers are.
type Places struct {
	MPICH  string // the folder with its mpicc and mpiexec
	Python string // the interpreter that has PyTorch
}

// engines are ours over the transports named and the peers named; their programs are
// compiled into dir.
func engines(ctx context.Context, o *Options, dir string) (all []*engine, err error) {
	for _, d := range o.Devices {
		if d == "mpi" {
			all = append(all, overMPI(o.Self))
		} else {
			all = append(all, ours(o.Self, d))
		}
	}
	for _, p := range o.Peers {
		switch p {
		case "openmpi":
			mpi, err := compiled(ctx, dir, p, "mpicc.openmpi")
			if err != nil {
				return nil, err
			}
			all = append(all, wanted(o.Devices, launched(p, "shm", mpi, "-np", append(slices.Clone(openMPI), "self,vader")),
				launched(p, "tcp", mpi, "-np", append(slices.Clone(openMPI), "self,tcp", "--mca", "btl_tcp_if_include", "lo")))...)
		case "mpich":
			mpi, err := compiled(ctx, dir, p, filepath.Join(o.Places.MPICH, "mpicc"))
			if err != nil {
				return nil, err
			}
			// Without -disable-auto-cleanup it kills the others as soon as the first rank has ended, as it should.
			all = append(all, launched(p, "shm", mpi, "-n", []string{filepath.Join(o.Places.MPICH, "mpiexec"), "-disable-auto-cleanup", "-bind-to", "none"}))
		case "gloo":
			text, err := workers.ReadFile("worker/gloo.py")
			if err != nil {
				return nil, err
			}
			program := filepath.Join(dir, "gloo.py")
			if err := os.WriteFile(program, text, 0o666); err != nil {
				return nil, err
			}
			all = append(all, gloo(o.Places.Python, program))
		default:
			return nil, fmt.Errorf("collective: no library %q; there are %v", p, Peers())
		}
	}
	return all, nil
}

// wanted are those of a peer's engines whose transport is timed with ours too, or all where
// none is.
func wanted(devices []string, all ...*engine) []*engine {
	if some := slices.DeleteFunc(slices.Clone(all), func(e *engine) bool { return !slices.Contains(devices, e.device) }); len(some) > 0 {
		return some
	}
	return all
}

// openMPI begins the commands of Open MPI's launcher; what carries the messages follows.
var openMPI = []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl"}

// overMPI is this program as ranks that Open MPI starts, over its shared memory. They pin
// themselves, each by becoming [Rank] a second time.
func overMPI(self []string) *engine {
	return &engine{name: "volley", device: "mpi", together: true, commands: func(ranks int, socket string) ([][]string, error) {
		argv := append(slices.Clone(openMPI), "self,vader", "-np", strconv.Itoa(ranks))
		return [][]string{append(append(argv, self...), fmt.Sprintf("mpi,%s,0,%d,%s", anywhere, ranks, socket))}, nil
	}}
}

// What stands for the meeting of ranks over MPI, which meet by themselves: whether the
// process has its place.
const (
	anywhere = "anywhere"
	settled  = "settled"
)

// compiled makes the MPI rank with a library's compiler.
func compiled(ctx context.Context, dir, name, mpicc string) (string, error) {
	text, err := workers.ReadFile("worker/mpi.c")
	if err != nil {
		return "", err
	}
	source, program := filepath.Join(dir, "mpi.c"), filepath.Join(dir, "mpi-"+name)
	if err := os.WriteFile(source, text, 0o666); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, mpicc, "-O2", "-o", program, source).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("collective: %s with %s (bash scripts/collective_peers.sh installs it): %w: %s", name, mpicc, err, out)
	}
	return program, nil
}

// launched is an MPI library, whose launcher starts the ranks, which pin themselves.
func launched(name, device, program, ranksFlag string, launcher []string) *engine {
	return &engine{name: name, device: device, together: true, commands: func(ranks int, socket string) ([][]string, error) {
		return [][]string{append(slices.Clone(launcher), ranksFlag, strconv.Itoa(ranks), program, socket)}, nil
	}}
}

func gloo(python, program string) *engine {
	return &engine{name: "gloo", device: "tcp", together: true, commands: func(ranks int, socket string) (all [][]string, err error) {
		port, err := freePort()
		for r := range ranks {
			all = append(all, []string{python, program, socket, port, strconv.Itoa(r), strconv.Itoa(ranks)})
		}
		return all, err
	}}
}

// ours is this program as ranks: self is how it is called so that it becomes [Rank].
func ours(self []string, device string) *engine {
	e := &engine{name: "volley", device: device, together: device == "inproc"}
	e.commands = func(ranks int, socket string) (all [][]string, err error) {
		meeting := rand.Text()
		if device == "tcp" {
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			meeting = "tcp://127.0.0.1:" + port
		}
		processes := ranks
		if e.together {
			processes = 1
		}
		for r := range processes {
			all = append(all, append(slices.Clone(self), fmt.Sprintf("%s,%s,%d,%d,%s", device, meeting, r, ranks, socket)))
		}
		return all, nil
	}
	return e
}

// freePort is a port of the loopback device that nobody listened on just now.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return "", err
	}
	return port, ln.Close()
}
