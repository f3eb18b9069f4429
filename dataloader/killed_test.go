package dataloader

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// rankOfMany names the variable that makes the test binary a rank.
const rankOfMany = "VOLLEY_TEST_RANK"

// mortal is what a process is told: its part of a training, and when it dies.
type mortal struct {
	File, Log       string
	Blocks          bool
	Seed            uint64
	Rank, Size      int
	Batch           int64
	Workers, Ring   int
	Remainder       Remainder
	State           *State
	Dies, Character int // at which batch, and how; −1 for not at all
}

// recorded is what a process says of a batch when it is done with it: the rows, and
// where the loader then stood.
type recorded struct {
	Rows  []int64
	State State
	End   bool // of the epoch, without rows
}

// The ways to die.
const (
	diesUnrecorded = iota // with a batch that was given out and not recorded
	diesHalfway           // while it is recorded
	diesRecorded          // when it was
	deaths
)

// live is the life of a process.
func (m mortal) live() error {
	b, err := cpu.New(host.New())
	if err != nil {
		return err
	}
	var from table.Source = storage.IPC(m.File)
	if strings.HasSuffix(m.File, ".parquet") {
		from = storage.Parquet(m.File)
	}
	f, err := FromFiles(ctx, b, from, FileOptions{Cache: 2000})
	if err != nil {
		return err
	}
	o := Options{Batch: m.Batch, Seed: m.Seed, Rank: m.Rank, Size: m.Size, Workers: m.Workers, Prefetch: m.Ring, Remainder: m.Remainder, Shuffle: !m.Blocks, Epochs: 1}
	if m.Blocks {
		if o.Order, err = f.Order(100, m.Seed); err != nil {
			return err
		}
	}
	var l *Loader
	if m.State == nil {
		l, err = New(ctx, f, o)
	} else {
		l, err = Resume(ctx, f, o, *m.State)
	}
	if err != nil {
		return err
	}
	log, err := os.Create(m.Log)
	if err != nil {
		return err
	}
	for batch := 0; ; batch++ {
		one, err := l.Next(ctx)
		if err != nil && err != io.EOF {
			return err
		}
		r := recorded{End: err == io.EOF}
		if !r.End {
			rows, err1 := one.Rows()
			info, err2 := one.Info()
			if err := errors.Join(err1, err2); err != nil {
				return err
			}
			r.Rows = slices.Clone(rows[:info.Rows-info.Padded])
			if err := one.Release(); err != nil {
				return err
			}
		}
		if r.State, err = l.State(ctx); err != nil {
			return err
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text = append(text, '\n')
		switch dies := batch == m.Dies; {
		case dies && m.Character == diesUnrecorded:
			kill()
		case dies && m.Character == diesHalfway:
			text = text[:len(text)/2]
		}
		if _, err := log.Write(text); err != nil {
			return err
		}
		if batch == m.Dies {
			kill()
		}
		if r.End {
			return errors.Join(log.Close(), l.Close(), f.Close(), b.Close())
		}
	}
}

// kill ends this process as kill -9 does, with its workers busy.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	time.Sleep(time.Hour) // which does not come
}

// TestKilledProcesses takes 100 trainings of some ranks, each a process that is
// killed at a random batch, and goes on with them by other numbers of ranks, batch
// sizes and workers, from the state of the last step that all ranks have recorded:
// each row comes once. What was given out after that step comes again, as it must:
// what was made of it went with the processes. They share no memory: under the race
// detector there are fewer.
func TestKilledProcesses(t *testing.T) {
	if told := os.Getenv(rankOfMany); told != "" {
		var m mortal
		err := json.Unmarshal([]byte(told), &m)
		if err == nil {
			err = m.live()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	b, _ := onHost(t)
	const rows = 503
	all, folder := numbers(t, b, rows, 2, 60, 200, 300, 390), t.TempDir()
	files := []string{filepath.Join(folder, "rows.parquet"), filepath.Join(folder, "rows.arrow")}
	if err := errors.Join(storage.WriteParquet(ctx, all, files[0], storage.ParquetOptions{RowGroupRows: 60}), storage.WriteIPC(ctx, all, files[1], storage.IPCOptions{})); err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	var mu sync.Mutex
	trainings, killed, again := 100, 0, 0
	if backends.RaceDetector {
		trainings = 12
	}
	for lane := range 2 {
		runs.Go(func() {
			for run := lane; run < trainings; run += 2 {
				k, r, err := killedRun(run, rows, files[run/2%2], t.TempDir())
				if err != nil {
					t.Errorf("run %d: %v", run, err)
					return
				}
				mu.Lock()
				killed, again = killed+k, again+r
				mu.Unlock()
			}
		})
	}
	runs.Wait()
	t.Logf("%d processes were killed; %d rows of batches that not all ranks had recorded came again", killed, again)
	if !t.Failed() && (killed < trainings || again == 0) {
		t.Errorf("%d processes were killed, %d rows came again", killed, again)
	}
}

// killedRun is one training of an epoch, and how many processes were killed and
// rows came again in it.
func killedRun(run, rows int, file, folder string) (killed, again int, err error) {
	random := rand.New(rand.NewPCG(uint64(run), 3))
	seen := make([]int, rows)
	m := mortal{File: file, Seed: uint64(run), Blocks: run%4 == 1, Remainder: Remainder(random.IntN(2)) * Uneven}
	for life := 0; ; life++ {
		m.Size, m.Batch = 1+random.IntN(3), 20+random.Int64N(60)
		m.Workers, m.Ring = []int{InCaller, 1, 2}[random.IntN(3)], 1+random.IntN(4)
		logs, errs := make([][]recorded, m.Size), make([]error, m.Size)
		var ranks sync.WaitGroup
		for r := range m.Size {
			m.Rank, m.Log = r, filepath.Join(folder, fmt.Sprintf("%d-%d", life, r))
			m.Dies, m.Character = random.IntN(5), random.IntN(deaths)
			if life >= 4 { // and in the end they live
				m.Dies = -1
			}
			one := m
			ranks.Go(func() {
				logs[r], errs[r] = one.process()
			})
		}
		ranks.Wait()
		if err := errors.Join(errs...); err != nil {
			return 0, 0, fmt.Errorf("life %d: %w", life, err)
		}
		steps, state, ended, err := common(logs)
		if err != nil {
			return 0, 0, fmt.Errorf("life %d: %w", life, err)
		}
		for _, log := range logs {
			for i, r := range log {
				for _, row := range r.Rows {
					if i < steps {
						seen[row]++
					} else {
						again++
					}
				}
			}
			if len(log) == 0 || !log[len(log)-1].End {
				killed++
			}
		}
		if ended {
			break
		}
		if state != nil {
			m.State = state
		}
	}
	for row, n := range seen {
		if n != 1 {
			return 0, 0, fmt.Errorf("row %d came %d times", row, n)
		}
	}
	return killed, again, nil
}

// process runs a rank and reads what it has recorded.
func (m mortal) process() (all []recorded, err error) {
	told, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	c := exec.Command(os.Args[0], "-test.run=^TestKilledProcesses$")
	c.Env, c.Stderr = append(os.Environ(), rankOfMany+"="+string(told)), &said
	err = c.Run()
	var exit *exec.ExitError
	if dead := errors.As(err, &exit) && m.Dies >= 0 && exit.ExitCode() == -1; err != nil && !dead { // a signal has no code
		return nil, fmt.Errorf("rank %d of %d: %w: %s", m.Rank, m.Size, err, said.String())
	}
	log, err := os.Open(m.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // what follows the last whole line was being written
			return all, nil
		}
		var r recorded
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
}

// common is the last step that all ranks have recorded, how many there are up to
// it, and whether the epoch is over for all; state is nil where there is none. A
// rank whose epoch has ended has recorded all steps.
func common(logs [][]recorded) (steps int, state *State, ended bool, err error) {
	steps, ended = -1, true
	longest := 0
	for _, log := range logs {
		longest = max(longest, len(log))
		if n := len(log); n == 0 || !log[n-1].End {
			ended = false
			if steps < 0 || n < steps {
				steps = n
			}
		}
	}
	if ended {
		return longest, nil, true, nil
	}
	for i, log := range logs {
		if steps == 0 || len(log) < steps || log[steps-1].End {
			continue
		}
		s := log[steps-1].State
		if state != nil && *state != s {
			return 0, nil, false, fmt.Errorf("after %d steps rank %d is at %+v, another at %+v", steps, i, s, *state)
		}
		state = &s
	}
	return steps, state, false, nil
}
