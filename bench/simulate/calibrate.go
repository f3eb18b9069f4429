package simulate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/bench/pin"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/inproc"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/shm"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/collective/tune"
)

// Sizes are the vectors of the collective operations that predictions are held
// against, in bytes.
var Sizes = []int64{8, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 16 << 20}

// crowd is how many ranks stand for more than there are processors.
const crowd = 4

// Calibrate measures a transport of this machine between two processes and between
// four, and times collective operations over it: "shm", "tcp", or "inproc" within
// this process. self is the program and arguments that become [Rank] with one
// argument more. All is measured so many rounds.
// Of the host's states the one in which earlier machines were measured is preferred.
func Calibrate(ctx context.Context, self []string, device string, rounds int, earlier []*tune.Machine, p progress.Progress) (*tune.Machine, error) {
	var prefer tune.State
	for _, m := range earlier {
		prefer = m.Hosts[0].State
	}
	var reports [2]*tune.Report
	for i, n := range []int{2, crowd} {
		p.Start(fmt.Sprintf("measure %s with %d ranks", device, n), 0)
		var err error
		if device == "inproc" {
			reports[i], err = together(ctx, n, rounds)
		} else {
			if i > 0 {
				prefer = reports[0].State
			}
			reports[i], err = processes(ctx, self, device, n, rounds, prefer)
		}
		p.Done()
		if err != nil {
			return nil, fmt.Errorf("%s with %d ranks: %w", device, n, err)
		}
	}
	return tune.Join(reports[0], reports[1]), nil
}

func together(ctx context.Context, n, rounds int) (*tune.Report, error) {
	ends := inproc.New(n)
	reports, errs := make([]*tune.Report, n), make([]error, n)
	var all sync.WaitGroup
	for r := range ends {
		all.Go(func() {
			reports[r], errs[r] = tune.Rank(ctx, ends[r], tune.Cases(Sizes), tune.Options{Rounds: rounds})
			errs[r] = errors.Join(errs[r], ends[r].Close())
		})
	}
	all.Wait()
	return reports[0], errors.Join(errs...)
}

// processes starts the ranks, each on the processor whose turn it is, and reads what rank
// 0 prints.
func processes(ctx context.Context, self []string, device string, n, rounds int, prefer tune.State) (*tune.Report, error) {
	meeting, watch := "volley-tune-"+rand.Text(), "volley-host-"+rand.Text()
	if device == "tcp" {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		meeting = "tcp://" + ln.Addr().String()
		if err := ln.Close(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out, said bytes.Buffer
	var mu sync.Mutex
	errs := make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		argv := append(append([]string(nil), self[1:]...), strings.Join([]string{device, meeting, watch, strconv.Itoa(r), strconv.Itoa(n), strconv.Itoa(rounds), fmt.Sprint(prefer.Lines), fmt.Sprint(prefer.Loop)}, ","))
		c := exec.CommandContext(ctx, self[0], argv...)
		c.WaitDelay = 2 * time.Second
		c.Stderr = &shared{to: &said, mu: &mu}
		if r == 0 {
			c.Stdout = &out
		}
		if errs[r] = pin.Start(c, r); errs[r] != nil {
			cancel()
			break
		}
		all.Go(func() {
			if errs[r] = c.Wait(); errs[r] != nil {
				cancel() // the others wait for it
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(said.String()), " "))
	}
	r := &tune.Report{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil || r.Figures == nil {
		return nil, fmt.Errorf("rank 0 printed %q: %w", out.String(), err)
	}
	return r, nil
}

// shared is a writer of several.
type shared struct {
	to io.Writer
	mu *sync.Mutex
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// Rank is a process that Calibrate starts: what says which. Rank 0 writes its report
// to w.
func Rank(ctx context.Context, what string, w io.Writer) error {
	words := strings.Split(what, ",")
	if len(words) != 8 {
		return fmt.Errorf("%q names no rank", what)
	}
	rank, err := strconv.Atoi(words[3])
	size, err2 := strconv.Atoi(words[4])
	o := tune.Options{}
	var err3, err4, err5 error
	o.Rounds, err3 = strconv.Atoi(words[5])
	o.Prefer.Lines, err4 = strconv.ParseFloat(words[6], 64)
	o.Prefer.Loop, err5 = strconv.ParseFloat(words[7], 64)
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		return fmt.Errorf("%q names no rank: %w", what, err)
	}
	var ends transport.Endpoint
	switch words[0] {
	case "shm":
		ends, err = shm.Join(ctx, words[1], rank, size)
	case "tcp":
		ends, err = tcp.Join(ctx, rendezvous.World{Rank: rank, Size: size, LocalRank: rank, LocalSize: size, Address: words[1]}, tcp.Options{})
	default:
		err = fmt.Errorf("no transport %q between processes; there are shm and tcp", words[0])
	}
	if err != nil {
		return err
	}
	defer ends.Close()
	if shm.Reach() != "" { // else nobody knows what this machine's host does
		if o.Watch, err = shm.Join(ctx, words[2], rank, size); err != nil {
			return err
		}
		defer o.Watch.Close()
	}
	r, err := tune.Rank(ctx, ends, tune.Cases(Sizes), o)
	if err != nil || r == nil {
		return err
	}
	return json.NewEncoder(w).Encode(r)
}
