//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport/rendezvous"
)

// helperVariable makes the test binary a rank that does what the variable says.
const helperVariable = "VOLLEY_TEST_RANK"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == guardName || os.Args[1] == "launch") { // launch starts itself; tests kill one
		os.Exit(runWith(context.Background(), deps{}, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if what := os.Getenv(helperVariable); what != "" {
		os.Exit(rankHelper(what))
	}
	os.Exit(m.Run())
}

// rankHelper is the rank that launch starts.
func rankHelper(what string) int {
	w, err := rendezvous.Environment(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return 99
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGUSR1)
	fmt.Printf("rank %d of %d, %d of %d here\n", w.Rank, w.Size, w.LocalRank, w.LocalSize)
	late := time.After(20 * time.Second) // so that nothing stays behind a test that failed
	switch {
	case what == "print":
		fmt.Fprint(os.Stderr, "to the error stream, without an end")
		return 0
	case what == "fail" && w.Rank == 1:
		return 7
	case what == "die" && w.Rank == 1:
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return 98
		}
	case what == "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		<-late
		return 97
	}
	fmt.Println("ready")
	select {
	case s := <-caught:
		fmt.Println("caught", s)
		return 3
	case <-late:
		return 97
	}
}

// output is a buffer that goroutines write and a test watches.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// startRanks runs "volley launch" over this binary.
func startRanks(t *testing.T, ctx context.Context, what string, args ...string) (status int, stdout, stderr *output) {
	t.Helper()
	t.Setenv(helperVariable, what)
	stdout, stderr = &output{}, &output{}
	args = append(append([]string{"launch"}, args...), "--", os.Args[0])
	done := make(chan int, 1)
	go func() { done <- runWith(ctx, deps{}, args, strings.NewReader(""), stdout, stderr) }()
	select {
	case status = <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("launch hangs; it printed:\n%s%s", stdout, stderr)
	}
	return status, stdout, stderr
}

func TestLaunchPrints(t *testing.T) {
	status, stdout, stderr := startRanks(t, context.Background(), "print", "-n", "4")
	var want, wantErr []string
	for r := range 4 {
		want = append(want, fmt.Sprintf("[%d] rank %d of 4, %d of 4 here", r, r, r))
		wantErr = append(wantErr, fmt.Sprintf("[%d] to the error stream, without an end", r))
	}
	if got := sorted(stdout); status != statusOK || !slices.Equal(got, want) {
		t.Errorf("status %d, stdout %q, want %q", status, got, want)
	}
	if got := sorted(stderr); !slices.Equal(got, wantErr) {
		t.Errorf("stderr %q, want %q", got, wantErr)
	}
}

func sorted(o *output) []string {
	lines := strings.Split(strings.TrimSuffix(o.String(), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// The others of a rank that fails are ended after the grace time, and its status counts.
func TestLaunchEndsTheOthers(t *testing.T) {
	for what, want := range map[string]int{"fail": 7, "die": 128 + 9} {
		start := time.Now()
		status, stdout, stderr := startRanks(t, context.Background(), what, "-n", "3", "--grace", "100ms")
		if status != want || !strings.Contains(stderr.String(), "rank 1: ") {
			t.Errorf("%s: status %d, want %d; %s%s", what, status, want, stdout, stderr)
		}
		if d := time.Since(start); d < 100*time.Millisecond || d > 15*time.Second {
			t.Errorf("%s: the others end after %v", what, d)
		}
	}
}

func TestLaunchForwardsSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		t.Setenv(helperVariable, "wait")
		var stdout, stderr output
		done := make(chan int, 1)
		go func() {
			done <- untilSignal(func(ctx context.Context) int {
				return runWith(ctx, deps{}, []string{"launch", "-n", "2", "--", os.Args[0]}, strings.NewReader(""), &stdout, &stderr)
			})
		}()
		for deadline := time.Now().Add(20 * time.Second); strings.Count(stdout.String(), "ready") < 2; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the ranks do not start: %s%s", &stdout, &stderr)
			}
		}
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		want := 3 // the ranks' own
		if s == syscall.SIGTERM {
			want = statusInterrupted
		}
		select {
		case status := <-done:
			if n := strings.Count(stdout.String(), "caught "+s.String()); status != want || n != 2 {
				t.Errorf("%v: status %d, want %d; %d ranks caught it: %s%s", s, status, want, n, &stdout, &stderr)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%v is not passed on: %s%s", s, &stdout, &stderr)
		}
	}
}

// A rank that does not heed a signal is killed after the grace time.
func TestLaunchKillsTheDeaf(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	if status, _, stderr := startRanks(t, ctx, "deaf", "-n", "2", "--grace", "50ms"); status != statusInterrupted {
		t.Errorf("status %d: %s", status, stderr)
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("they end after %v", d)
	}
}

// launchShell runs a shell's text as two ranks.
func launchShell(t *testing.T, text string) (status int, stdout, stderr *output) {
	t.Helper()
	stdout, stderr = &output{}, &output{}
	done := make(chan int, 1)
	go func() {
		done <- runWith(context.Background(), deps{}, []string{"launch", "-n", "2", "--grace", "100ms", "--", "/bin/sh", "-c", text}, strings.NewReader(""), stdout, stderr)
	}()
	select {
	case status = <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("launch hangs; it printed:\n%s%s", stdout, stderr)
	}
	return status, stdout, stderr
}

// What a rank has started is ended with it, and is no failure where the rank itself succeeded.
func TestLaunchMindsDescendants(t *testing.T) {
	file := filepath.Join(t.TempDir(), "alive")
	if status, stdout, stderr := launchShell(t, `if [ $RANK = 1 ]; then exit 5; fi; (sleep 4; echo > `+file+`) & wait`); status != 5 {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if status, stdout, stderr := launchShell(t, `sleep 4 & echo done`); status != statusOK || strings.Count(stdout.String(), "done") != 2 {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	time.Sleep(4 * time.Second)
	if _, err := os.Stat(file); err == nil {
		t.Error("the rank was killed, and what it started lives")
	}
}

func TestLaunchRefuses(t *testing.T) {
	for _, args := range [][]string{{"launch", "-n", "2"}, {"launch", "-n", "0", "--", "true"}, {"launch", "--grace", "-1s", "--", "true"}} {
		var stdout, stderr output
		if status := runWith(context.Background(), deps{}, args, strings.NewReader(""), &stdout, &stderr); status != statusUsage {
			t.Errorf("%v: status %d: %s", args, status, &stderr)
		}
	}
	var stdout, stderr output
	status := runWith(context.Background(), deps{}, []string{"launch", "-n", "2", "--", "/no/such/program"}, strings.NewReader(""), &stdout, &stderr)
	if status != statusFailure || !strings.Contains(stderr.String(), "rank 0") {
		t.Errorf("no program: status %d: %s", status, &stderr)
	}
}

func TestLongLines(t *testing.T) {
	var out bytes.Buffer
	p := &prefixed{to: &out, prefix: "[3] ", lines: new(sync.Mutex)}
	for _, part := range []string{"a\nb", "c\n", strings.Repeat("x", longestLine), "y\n\nz"} {
		if n, err := p.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	want := "[3] a\n[3] bc\n[3] " + strings.Repeat("x", longestLine) + "\n[3] y\n[3] \n[3] z\n"
	if out.String() != want {
		t.Errorf("%.200q", out.String())
	}
}
