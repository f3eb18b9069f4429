package shm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// longLen is the length of a message that is read in place, in several reads.
const longLen = 1 << 20

// errOver interrupts endpoints of these tests.
var errOver = errors.New("the operation has failed elsewhere")

// returns fails the test where a call hangs.
func returns(t *testing.T, call string, f func() error) error {
	t.Helper()
	got := make(chan error, 1)
	go func() { got <- f() }()
	select {
	case err := <-got:
		return err
	case <-time.After(limit):
		t.Fatalf("%s hangs", call)
		return nil
	}
}

// A reader that stays in the middle of a read does not keep the writer that is
// interrupted, and never gives what it reads for the message.
func TestReaderInTheMiddle(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	defer a.Close()
	defer b.Close()
	payload := long(longLen, 0)
	if err := a.Post(1, &transport.Header{Seq: 1, Len: longLen}, payload); err != nil {
		t.Fatal(err)
	}
	reads, resume, got := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		got <- b.Recv(0, &transport.Header{Seq: 1, Len: longLen}, &transport.Sink{Into: make([]byte, longLen), Combine: func(int, []byte) {
			if first {
				first = false
				close(reads)
				<-resume
			}
		}})
	}()
	<-reads
	a.Interrupt(errOver)
	if err := returns(t, "Flush", func() error { return a.Flush(1) }); err != errOver {
		t.Errorf("Flush returns %v", err)
	}
	clear(payload)
	b.Interrupt(errOver)
	close(resume)
	if err := returns(t, "Recv", func() error { return <-got }); err != errOver {
		t.Errorf("a message that was taken back: Recv returns %v", err)
	}
}

// stoppedMain is rank 1 of 2, which stops itself in the middle of a read, and reads on
// when it was continued and told to.
func stoppedMain(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := Join(ctx, name, 1, 2)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	first := true
	err = e.Recv(0, &transport.Header{Seq: 1, Len: longLen}, &transport.Sink{Into: make([]byte, longLen), Combine: func(int, []byte) {
		if !first {
			return
		}
		first = false
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			fmt.Println(err)
		}
		<-e.Notes() // the whole process may have stopped some time after the call
		e.Interrupt(errOver)
	}})
	fmt.Println(err)
	return 0
}

// A process that is stopped in the middle of a read keeps nobody; when it is continued,
// its read fails.
func TestStoppedReader(t *testing.T) {
	name := fmt.Sprint(stops, time.Now().UnixNano())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asRank+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	bound := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer bound.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	e, err := Join(ctx, name, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	payload := long(longLen, 0)
	if err := e.Post(1, &transport.Header{Seq: 1, Len: longLen}, payload); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	for {
		if _, err = unix.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED, nil); err != unix.EINTR {
			break
		}
	}
	if err != nil || !status.Stopped() {
		t.Fatalf("the other rank has not stopped: status %v, %v", status, err)
	}
	e.Interrupt(errOver)
	if err := returns(t, "Flush", func() error { return e.Flush(1) }); err != errOver {
		t.Errorf("Flush returns %v", err)
	}
	clear(payload)
	if err := e.Signal(1, []byte("go on")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != errOver.Error() {
		t.Errorf("the rank that was stopped says %q, %v", line, err)
	}
}
