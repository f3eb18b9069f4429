package shm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// The test program is a rank itself when this variable names a group.
const asRank = "VOLLEY_SHM_TEST"

// stops begins the names of groups whose rank 1 stops itself.
const stops = "stops "

func TestMain(m *testing.M) {
	if name := os.Getenv(asRank); name != "" {
		if strings.HasPrefix(name, stopsWriting) {
			os.Exit(stoppedWriterMain(name))
		}
		if strings.HasPrefix(name, answers) {
			os.Exit(answerMain(name))
		}
		if strings.HasPrefix(name, stops) {
			os.Exit(stoppedMain(name))
		}
		os.Exit(rankMain(name))
	}
	os.Exit(m.Run())
}

// rankMain joins as rank 1 of 2, sends 1 MiB that the other checks, says so on its
// output, and waits to be killed.
func rankMain(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := Join(ctx, name, 1, 2)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i * 7)
	}
	h := &transport.Header{Seq: 1, Len: int64(len(data))}
	err = e.Post(0, h, data)
	if err == nil {
		err = e.Flush(0)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("sent")
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test program, at the latest
	return 0
}

// Two processes: what one sends the other reads from its memory; when one is killed
// the other hears of it soon.
func TestProcesses(t *testing.T) {
	name := fmt.Sprint("processes ", time.Now().UnixNano())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asRank+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := Join(ctx, name, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	got := make([]byte, 1<<20)
	if err := e.Recv(1, &transport.Header{Seq: 1, Len: 1 << 20}, &transport.Sink{Into: got}); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i] != byte(i*7) {
			t.Fatalf("byte %d is %d", i, got[i])
		}
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "sent" {
		t.Fatalf("the other rank says %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-e.Notes():
		if n.From != 1 || n.Err == nil || n.Err == transport.ErrLeft {
			t.Errorf("the note is %+v", n)
		}
	case <-time.After(limit):
		t.Error("nobody tells that rank 1 is gone")
	}
}

func TestJoinNamesWhoIsMissing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := Join(ctx, t.Name()+fmt.Sprint(time.Now().UnixNano()), 0, 3)
	if err == nil || !strings.Contains(err.Error(), "missing ranks 1, 2 of 3") {
		t.Errorf("Join: %v", err)
	}
	if _, err := Join(ctx, "x", 3, 3); err == nil {
		t.Error("rank 3 of 3 joins")
	}
}

// What a crashed group left behind does not disturb a new one of the same name.
func TestStaleSegment(t *testing.T) {
	name := fmt.Sprint("stale ", time.Now().UnixNano())
	s, err := create(path(name), name, 2)
	if err != nil {
		t.Fatal(err)
	}
	s.head().joined.Store(2)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	errs := make(chan error, 2)
	for r := range 2 {
		go func() {
			if r == 0 {
				time.Sleep(50 * time.Millisecond)
			}
			e, err := Join(ctx, name, r, 2)
			if err == nil {
				err = e.Close()
			}
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
