package simulate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/bench/pin"
	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
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
// argument more.
func Calibrate(ctx context.Context, self []string, device string, p progress.Progress) (*tune.Machine, error) {
	var reports [2]*tune.Report
	for i, n := range []int{2, crowd} {
		p.Start(fmt.Sprintf("measure %s with %d ranks", device, n), 0)
		var err error
		if device == "inproc" {
			reports[i], err = together(ctx, n)
		} else {
			reports[i], err = processes(ctx, self, device, n)
		}
		p.Done()
		if err != nil {
			return nil, fmt.Errorf("%s with %d ranks: %w", device, n, err)
		}
	}
	return tune.Join(reports[0], reports[1]), nil
}

func together(ctx context.Context, n int) (*tune.Report, error) {
	ends := inproc.New(n)
	reports, errs := make([]*tune.Report, n), make([]error, n)
	var all sync.WaitGroup
	for r := range ends {
		all.Go(func() {
			reports[r], errs[r] = tune.Rank(ctx, ends[r], tune.Cases(Sizes))
			errs[r] = errors.Join(errs[r], ends[r].Close())
		})
	}
	all.Wait()
	return reports[0], errors.Join(errs...)
}

// processes starts the ranks, each on the processor whose turn it is, and reads what rank
// 0 prints.
func processes(ctx context.Context, self []string, device string, n int) (*tune.Report, error) {
	meeting := "volley-tune-" + rand.Text()
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
		argv := append(append([]string(nil), self[1:]...), strings.Join([]string{device, meeting, strconv.Itoa(r), strconv.Itoa(n)}, ","))
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
	if len(words) != 4 {
		return fmt.Errorf("%q names no rank", what)
	}
	rank, err := strconv.Atoi(words[2])
	size, err2 := strconv.Atoi(words[3])
	if err := errors.Join(err, err2); err != nil {
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
	r, err := tune.Rank(ctx, ends, tune.Cases(Sizes))
	if err = errors.Join(err, ends.Close()); err != nil || r == nil {
		return err
	}
	return json.NewEncoder(w).Encode(r)
}

// Compared is predictions beside times, a line each with how much the times differ, the
// geometric mean of how far they are apart, and how far the times' own rounds are.
func Compared(all []tune.Prediction) report.Grid {
	g := report.Grid{Title: "Predicted and measured", Left: []bool{true, true, true},
		Header: []string{"transport", "op", "algorithm", "ranks", "size", "predicted", "measured", "error", "over the least"}}
	within, agree, sum := 0, 0.0, 0.0
	for i := range all {
		t := &all[i]
		e := t.Error()
		if math.Abs(e) <= 0.3 {
			within++
		}
		agree += t.Agree()
		sum += math.Abs(math.Log(t.Predicted / t.Seconds))
		g.Add(t.Transport, t.Op, t.Algorithm, fmt.Sprint(t.Ranks), report.Bytes(t.Bytes), report.Seconds(t.Predicted), report.Seconds(t.Seconds), fmt.Sprintf("%+.0f %%", 100*e), fmt.Sprintf("%+.0f %%", 100*(t.Spread()-1)))
	}
	if n := len(all); n > 0 {
		g.Note = fmt.Sprintf("%d of %d within 30 %%; geometric mean of the factor between them: %.2f. Measured is the middle of all rounds; of two rounds of a place one is within 30 %% of the other in %.0f of 100.", within, n, math.Exp(sum/float64(n)), 100*agree/float64(n))
	}
	return g
}
