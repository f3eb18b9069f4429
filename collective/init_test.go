package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
)

// initAll calls Init on ranks that are goroutines, each with its own environment.
func initAll(ctx context.Context, size int, missing int, shared map[string]string) ([]*Comm, []error) {
	comms, errs := make([]*Comm, size), make([]error, size)
	var ranks sync.WaitGroup
	for r := range size {
		if r == missing {
			continue
		}
		ranks.Go(func() {
			own := map[string]string{"RANK": fmt.Sprint(r), "WORLD_SIZE": fmt.Sprint(size), "LOCAL_RANK": fmt.Sprint(r)}
			comms[r], errs[r] = initialize(ctx, func(name string) string {
				if v, ok := shared[name]; ok {
					return v
				}
				return own[name]
			}, nil)
		})
	}
	ranks.Wait()
	return comms, errs
}

func TestInit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("sixteen bytes, and more"), 0o600); err != nil {
		t.Fatal(err)
	}
	local := "shm"
	if runtime.GOOS != "linux" {
		local = "tcp"
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"one machine":      {map[string]string{"LOCAL_WORLD_SIZE": "3"}, local},
		"told tcp":         {map[string]string{"LOCAL_WORLD_SIZE": "3", transportVariable: "tcp"}, "tcp"},
		"machines unknown": {map[string]string{}, local},
		"with a secret":    {map[string]string{secretVariable: file}, local},
		"a secret and tcp": {map[string]string{secretVariable: file, transportVariable: "tcp"}, "tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			c.env["VOLLEY_ADDRESS"] = "file://" + filepath.Join(t.TempDir(), "meeting")
			comms, errs := initAll(ctx, 3, -1, c.env)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			var ranks sync.WaitGroup
			for r, comm := range comms {
				ranks.Go(func() {
					sum := []int64{int64(r + 1)}
					if err := comm.AllReduce(ctx, Of(sum), Of(sum), Sum); err != nil || sum[0] != 6 || comm.Rank() != r || comm.Size() != 3 || comm.ends.Name() != c.want {
						t.Errorf("rank %d of %d over %s, sum %d: %v", comm.Rank(), comm.Size(), comm.ends.Name(), sum, err)
					}
				})
			}
			ranks.Wait()
			for _, comm := range comms {
				if err := comm.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// A program that nobody launched is one rank.
func TestInitAlone(t *testing.T) {
	c, err := initialize(t.Context(), func(string) string { return "" }, []Options{{Deterministic: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Size() != 1 || !c.options.Deterministic {
		t.Errorf("%d ranks with %+v", c.Size(), c.options)
	}
}

func TestInitFails(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]map[string]string{
		`VOLLEY_TRANSPORT is "smoke signals"`:        {transportVariable: "smoke signals"},
		"short has 5 bytes":                          {secretVariable: short},
		"join with package collective/transport/mpi": {"VOLLEY_ADDRESS": "mpi://"},
		"no such file":                               {secretVariable: short + "er"},
		"/dev/zero has more than 1048576 bytes":      {secretVariable: "/dev/zero"},
	} {
		if env["VOLLEY_ADDRESS"] == "" {
			env["VOLLEY_ADDRESS"] = "file://" + filepath.Join(t.TempDir(), "meeting")
		}
		_, errs := initAll(t.Context(), 2, 1, env)
		if !errors.Is(errs[0], device.ErrUnavailable) || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs[0], want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, errs := initAll(ctx, 2, 1, map[string]string{"LOCAL_WORLD_SIZE": "2", "VOLLEY_ADDRESS": "file://" + filepath.Join(t.TempDir(), "meeting")})
	if !errors.Is(errs[0], device.ErrUnavailable) || !errors.Is(errs[0], context.DeadlineExceeded) || !strings.Contains(errs[0].Error(), "rank 1 did not come") {
		t.Errorf("without rank 1: %v", errs[0])
	}
	if _, err := initialize(t.Context(), os.Getenv, make([]Options, 2)); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("two options: %v", err)
	}
}

// Ranks that were told different things hear so from each other, and do not wait.
func TestInitDisagrees(t *testing.T) {
	var secrets [2]string
	for i := range secrets {
		secrets[i] = filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(secrets[i], []byte(fmt.Sprint("sixteen bytes, or more: ", i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		own  [2]map[string]string
		want [2]string
	}{
		"a secret on one":     {[2]map[string]string{{secretVariable: secrets[0]}, {}}, [2]string{"rank 0 has one secret, rank 1 no secret", "rank 1 has no secret, rank 0 another secret"}},
		"another secret":      {[2]map[string]string{{secretVariable: secrets[0]}, {secretVariable: secrets[1]}}, [2]string{"rank 1 another secret", "rank 0 another secret"}},
		"a transport on one":  {[2]map[string]string{{transportVariable: "tcp"}, {transportVariable: "shm"}}, [2]string{"VOLLEY_TRANSPORT and LOCAL_WORLD_SIZE", "rank 0 over TCP"}},
		"tcp alone on one":    {[2]map[string]string{{transportVariable: "tcp"}, {}}, [2]string{"rank 0 uses TCP alone, rank 1 shared memory beside TCP: VOLLEY_TRANSPORT", "rank 1 uses shared memory beside TCP, rank 0 TCP alone"}},
		"a local size on one": {[2]map[string]string{{}, {"LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"}}, [2]string{"VOLLEY_TRANSPORT and LOCAL_WORLD_SIZE", "rank 0 over TCP"}},
	} {
		if runtime.GOOS != "linux" && strings.Contains(c.want[1], "over TCP") {
			continue // there is no shared memory to join through
		}
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			place := "file://" + filepath.Join(t.TempDir(), "meeting")
			var ranks sync.WaitGroup
			for r, own := range c.own {
				ranks.Go(func() {
					_, err := InitFrom(ctx, func(name string) string {
						switch name {
						case "RANK":
							return fmt.Sprint(r)
						case "WORLD_SIZE":
							return "2"
						case "VOLLEY_ADDRESS":
							return place
						}
						return own[name]
					})
					if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), c.want[r]) || ctx.Err() != nil {
						t.Errorf("rank %d: %v", r, err)
					}
				})
			}
			ranks.Wait()
		})
	}
}
