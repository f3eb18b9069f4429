package collective

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/inproc"
)

// The test program is a rank itself, ours or one that lies, when this variable is set.
const asRank = "VOLLEY_COLLECTIVE_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(asRank) {
	case "":
		os.Exit(m.Run())
	case "liar":
		os.Exit(status(liar(os.Args[1])))
	}
	os.Exit(status(Rank(context.Background(), os.Args[1])))
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// liar is the only rank of a world whose results have three wrong elements, which has
// no gather and which dies of a scatter.
func liar(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	fmt.Fprintln(conn, "hello 0 liar 1.0")
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		c, err := parseCommand(lines.Text())
		switch {
		case err != nil:
			return err
		case c.op.name == "gather":
			fmt.Fprintln(conn, "lacks it was forgotten")
		case c.op.name == "scatter":
			return errors.New("cannot scatter")
		case c.do == "check":
			fmt.Fprintln(conn, "ok 3")
		default:
			fmt.Fprintf(conn, "ok %g\n", 0.01*float64(c.times))
		}
	}
	return lines.Err()
}

// sink keeps what comes.
type sink struct {
	records []report.Record
	answers []report.Answer
}

func (s *sink) Record(r report.Record) error { s.records = append(s.records, r); return nil }
func (s *sink) Answer(a report.Answer) error { s.answers = append(s.answers, a); return nil }

func self(t *testing.T) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asRank, "ours")
	return []string{program}
}

// Every operation over every transport is right, in both places that it has, and the
// table has a line for each.
func TestOurs(t *testing.T) {
	to := &sink{}
	o := Options{Self: self(t), Devices: Devices(), Ops: Operations(), Sizes: []int64{4, 8, 40 << 10}, Ranks: []int{3}, Rounds: 1, Limit: report.Bandwidth{CopyGBs: 10}}
	if err := Run(context.Background(), o, to, progress.Nothing()); err != nil {
		t.Fatal(err)
	}
	places := 0
	for _, op := range operations {
		sizes := 3
		if op.blocks {
			sizes = 2 // a block of three ranks has one element, for 4 bytes as for 8
		}
		for _, has := range []bool{op.in, op.out} {
			if has {
				places += sizes
			}
		}
	}
	if want := places * len(Devices()); len(to.records) != want {
		t.Errorf("%d records, want %d", len(to.records), want)
	}
	for _, r := range to.records {
		if r.OK == nil || !*r.OK || r.MinS == nil || *r.MinS <= 0 || r.Ranks != 3 || r.Engine != "volley" || r.Bytes == nil {
			t.Errorf("record %+v", r)
		}
	}
	if len(to.answers) != 1 || !strings.Contains(to.answers[0].Grid.Header[12], "#wrong") {
		t.Errorf("answers %+v", to.answers)
	}
}

// world1 is a world of the liar alone.
func world1(t *testing.T) *world {
	t.Helper()
	program := self(t)
	t.Setenv(asRank, "liar")
	e := &engine{name: "liar", device: "shm", commands: func(_ int, socket string) ([][]string, error) {
		return [][]string{append(program, socket)}, nil
	}}
	w, err := start(context.Background(), e, 1, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWrongResultsAreSeen(t *testing.T) {
	w := world1(t)
	if w.version != "liar 1.0" {
		t.Errorf("version %q", w.version)
	}
	to, s := &sink{}, &summary{o: &Options{}}
	for _, name := range []string{"allreduce", "gather"} {
		op, err := operationNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		tr := &trial{op: op, count: 16, rounds: 2}
		if err := tr.run(context.Background(), []*world{w}); err != nil {
			t.Fatal(err)
		}
		if err := s.add(tr, 1, to); err != nil {
			t.Fatal(err)
		}
	}
	if len(to.records) != 1 || !to.records[0].Wrong() || s.lines[0].Wrong != 6 || math.Abs(s.lines[0].MinS-0.01) > 1e-9 {
		t.Errorf("records %+v, lines %+v", to.records, s.lines)
	}
	if len(s.lacks) != 1 || !strings.Contains(s.table().Note, "liar over shm has no gather out of place") {
		t.Errorf("lacks %q, note %q", s.lacks, s.table().Note)
	}
	op, err := operationNamed("scatter")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{op: op, count: 16, rounds: 1}
	if err := tr.run(context.Background(), []*world{w}); err == nil || !strings.Contains(err.Error(), "rank 0 of liar over shm is gone") {
		t.Errorf("a rank that dies: %v", err)
	}
	if err := w.close(); err == nil || !strings.Contains(err.Error(), "cannot scatter") {
		t.Errorf("close: %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	w := world1(t)
	cancel()
	op, err := operationNamed("reduce")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if _, err := w.call(ctx, command{do: "time", op: op, count: 1, times: 1}); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("call: %v", err)
	}
	if d := time.Since(begun); d > 10*time.Second {
		t.Errorf("it takes %v", d)
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	e := &engine{name: "nobody", device: "shm", commands: func(int, string) ([][]string, error) { return nil, nil }}
	if _, err := start(ctx, e, 1, t.TempDir()); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "ranks did not come") {
		t.Errorf("a world that nobody comes to: %v", err)
	}
}

// Every wrong element is counted once, wherever it is.
func TestWrongCounts(t *testing.T) {
	comm, err := collective.New(inproc.New(1)[0], collective.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer comm.Close()
	for i := range operations {
		c := command{do: "check", op: &operations[i], count: 9, inPlace: operations[i].in}
		r := &rank{comm: comm}
		for _, spoiled := range []int{0, 2} {
			if answer, err := r.answer(context.Background(), c); err != nil || answer != "ok 0" {
				t.Errorf("%s: %q, %v", c, answer, err)
			}
			for k := range spoiled {
				r.out[4*k]++
			}
			if n := r.wrong(c); n != int64(spoiled) {
				t.Errorf("%s: %d elements are spoiled, %d are found", c, spoiled, n)
			}
		}
	}
}

func TestCommands(t *testing.T) {
	op, err := operationNamed("allreduce")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "check", "check nothing 0 1 0", "check reduce 0 0 0", "guess reduce 0 1 0"} {
		if c, err := parseCommand(text); err == nil {
			t.Errorf("%q is %v", text, c)
		}
	}
	c := command{do: "time", op: op, inPlace: true, count: 7, times: 3}
	if back, err := parseCommand(c.String()); err != nil || back != c {
		t.Errorf("%v comes back as %v, %v", c, back, err)
	}
	for _, text := range []string{"", "ok", "ok x", "error it broke"} {
		if v, err := parseAnswer(text); err == nil || errors.Is(err, errLacks) {
			t.Errorf("%q is %v, %v", text, v, err)
		}
	}
}

func TestRatios(t *testing.T) {
	line := func(engine string, size int64, seconds float64) Line {
		return Line{Engine: engine, Device: "shm", Ranks: 2, Op: "reduce", Size: size, MinS: seconds}
	}
	s := &summary{o: &Options{Limit: report.Bandwidth{CopyGBs: 10}}, lines: []Line{
		line("volley", 8, 1), line("openmpi", 8, 4), line("volley", 64, 1), line("openmpi", 64, 1), line("volley", 64<<10, 2), line("openmpi", 64<<10, 1),
	}}
	all := s.ratios()
	if len(all) != 1 {
		t.Fatalf("ratios %+v", all)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if r := all[0]; !near(r.Short, 2) || !near(r.Long, 0.5) || !near(r.All, math.Cbrt(2)) || !near(r.Worst, 0.5) || r.At != 64<<10 || r.Peer != "openmpi" {
		t.Errorf("ratio %+v", r)
	}
	if l := s.limit(&Line{Op: "allreduce", Ranks: 2, Size: 64 << 20}); !near(l, 2) {
		t.Errorf("limit %v", l)
	}
	if l := s.limit(&Line{Op: "allreduce", Ranks: 2, Size: 64 << 10}); l != 0 {
		t.Errorf("limit %v of what stays in caches", l)
	}
}

func TestPasses(t *testing.T) {
	for _, c := range []struct {
		op      string
		ranks   float64
		inPlace bool
		want    float64
	}{
		{"allreduce", 4, false, 11}, {"broadcast", 4, true, 6}, {"reduce", 2, false, 3}, {"reducescatter", 4, true, 9},
		{"allgather", 4, false, 8}, {"allgather", 4, true, 6}, {"gather", 4, false, 2}, {"scatter", 2, false, 2}, {"alltoall", 4, false, 8},
	} {
		if got := passes(c.op, c.ranks, c.inPlace); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %v ranks, in place %v: %v times, want %v", c.op, c.ranks, c.inPlace, got, c.want)
		}
	}
}

// Ranks over MPI are started by Open MPI's launcher, as this program, which takes its
// place and then looks for the library.
func TestOverMPI(t *testing.T) {
	all, err := engines(context.Background(), &Options{Self: []string{"/bin/volley", "--rank"}, Devices: Launched()}, t.TempDir())
	if err != nil || len(all) != 1 || all[0].device != "mpi" || !all[0].together {
		t.Fatalf("%+v, %v", all, err)
	}
	commands, err := all[0].commands(4, "/socket")
	if err != nil || len(commands) != 1 {
		t.Fatalf("%q, %v", commands, err)
	}
	line := strings.Join(commands[0], " ")
	if !strings.HasPrefix(line, "mpirun.openmpi ") || !strings.HasSuffix(line, " -np 4 /bin/volley --rank mpi,anywhere,0,4,/socket") {
		t.Errorf("the command is %s", line)
	}
	t.Setenv("OMPI_COMM_WORLD_LOCAL_RANK", "")
	if err := Rank(context.Background(), "mpi,anywhere,0,4,/socket"); err == nil || !strings.Contains(err.Error(), "OMPI_COMM_WORLD_LOCAL_RANK") {
		t.Errorf("without a launcher: %v", err)
	}
	if runtime.GOOS != "linux" {
		return // it begins anew on Linux only
	}
	rank := exec.Command(self(t)[0], "mpi,anywhere,0,4,/socket")
	rank.Env = append(os.Environ(), "OMPI_COMM_WORLD_LOCAL_RANK=1", "VOLLEY_MPI_LIBRARY=no-such-library")
	out, err := rank.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such-library") {
		t.Errorf("a rank without its library: %v: %s", err, out)
	}
}
