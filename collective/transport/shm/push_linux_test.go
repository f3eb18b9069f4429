package shm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// unwritten notes what is left out where ranks do not write each other's memory. On a build
// machine (CI=true) that is a failure.
func unwritten(t *testing.T) {
	t.Helper()
	const text = "ranks do not write each other's memory here"
	if os.Getenv("CI") == "true" {
		t.Fatal("CI=true: nothing may be left out: " + text)
	}
	t.Log(text)
}

// pushing is a group of two whose ranks write each other's messages; nil where the system or
// the number of its processors does not have them do that.
func pushing(t *testing.T) (a, b *endpoint) {
	t.Helper()
	ends := group(t, 2)
	a, b = ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	t.Cleanup(func() { ends[0].Endpoint.Close(); ends[1].Endpoint.Close() }) // not a and b, which may be nil by then
	if !a.lanes[1].pushes {
		unwritten(t)
		return nil, nil
	}
	a.adapts, b.adapts = false, false // all messages that can be written are
	return a, b
}

// carry has a send a message of n bytes to b, which runs before between Expect and Recv
// where it is not nil.
func carry(t *testing.T, a, b *endpoint, seq, n int, before func()) {
	t.Helper()
	h := transport.Header{Seq: uint64(seq), Len: int64(n)}
	var sender sync.WaitGroup
	sender.Go(func() {
		sent, own := long(n, seq), make([]byte, n)
		err := a.Post(b.rank, &h, sent)
		a.Copy(own, sent)
		if err := errors.Join(err, a.Flush(b.rank)); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(own, sent) {
			t.Errorf("the copy of message %d of %d bytes is another", seq, n)
		}
		clear(sent)
	})
	got, want := make([]byte, n+1), h
	if before != nil {
		b.Expect(a.rank, &want, got[:n])
		before()
	}
	if err := b.Recv(a.rank, &want, &transport.Sink{Into: got[:n]}); err != nil {
		t.Fatal(err)
	}
	sender.Wait()
	if !bytes.Equal(got[:n], long(n, seq)) || got[n] != 0 {
		t.Fatalf("message %d of %d bytes is not what was sent", seq, n)
	}
}

// A writer that waits writes parts of its message, of whatever length it is, and of one that
// is expected all of it before it is received.
func TestWriterWrites(t *testing.T) {
	a, b := pushing(t)
	if a == nil {
		return
	}
	seq := 0
	for _, n := range []int{part + 1, 2 * part, 7*part - 1, 40*part + 100, 128*part + 64, 2*part + 1} {
		for range 20 {
			seq++
			carry(t, a, b, seq, n, nil)
		}
		before := a.lanes[1].pushedOut
		seq++
		carry(t, a, b, seq, n, func() {
			for end := time.Now().Add(limit); b.lanes[0].in.door.pushed.Load() != before+partsOf(n); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d of %d parts of an expected message come", b.lanes[0].in.door.pushed.Load()-before, partsOf(n))
				}
			}
		})
	}
}

// What a writer cannot write its reader reads.
func TestWriterThatMayNot(t *testing.T) {
	a, b := pushing(t)
	if a == nil {
		return
	}
	for i := range b.lanes[0].in.door.reaches {
		b.lanes[0].in.door.reaches[i].len.Store(0)
	}
	for seq := 1; seq < 40; seq++ {
		var before func()
		if seq%2 == 0 {
			before = func() { time.Sleep(time.Millisecond) }
		}
		carry(t, a, b, seq, 30*part, before)
	}
	if a.lanes[1].pushedOut == 0 {
		t.Error("the writer has tried none")
	}
}

// Of a message that is another one than was expected no byte comes.
func TestExpectedIsAnother(t *testing.T) {
	a, b := pushing(t)
	if a == nil {
		return
	}
	for _, n := range []int{4 * part, 6 * part} { // the other one is shorter, longer
		into := make([]byte, 5*part)
		want := transport.Header{Seq: 1, Len: int64(len(into))}
		b.Expect(0, &want, into)
		if err := a.Post(1, &transport.Header{Seq: 1, Len: int64(n)}, long(n, 1)); err != nil {
			t.Fatal(err)
		}
		var flushed sync.WaitGroup
		flushed.Go(func() {
			if err := a.Flush(1); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Millisecond)
		var wrong *transport.Mismatch
		if err := b.Recv(0, &want, &transport.Sink{Into: into}); !errors.As(err, &wrong) {
			t.Errorf("a message of %d bytes: %v", n, err)
		}
		b.Forget()
		flushed.Wait()
		if !bytes.Equal(into, make([]byte, len(into))) {
			t.Errorf("bytes of a message of %d came", n)
		}
	}
}

// Whenever ranks are interrupted, nothing is written to where a message was received or
// expected once the call that ended has returned.
func TestInterruptedWrites(t *testing.T) {
	for i := range 60 {
		a, b := pushing(t)
		if a == nil {
			return
		}
		const n = 64 * part
		sent, into := long(n, i), make([]byte, n)
		h := transport.Header{Seq: 1, Len: n}
		var ranks sync.WaitGroup
		ranks.Go(func() {
			_ = a.Post(1, &h, sent) // it may be interrupted
			_ = a.Flush(1)
			clear(sent)
		})
		ranks.Go(func() {
			want := h
			if i%2 == 0 {
				b.Expect(0, &want, into)
			}
			time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
			if i%4 != 0 {
				_ = b.Recv(0, &want, &transport.Sink{Into: into})
			}
			b.Forget()
			for k := range into {
				into[k] = 0xee
			}
		})
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		b.Interrupt(errOver)
		a.Interrupt(errOver)
		ranks.Wait()
		time.Sleep(time.Millisecond)
		for k, is := range into {
			if is != 0xee {
				t.Fatalf("trial %d: byte %d was written after the call", i, k)
			}
		}
	}
}

// runUntil keeps its thread running until over is 1; begun is 1 from then on. It calls nothing that begins with a look at
// the goroutine's stack, which is where Go puts a goroutine aside and its thread to sleep: under the race detector each
// method of package atomic does.
//
//go:nosplit
//go:norace
func runUntil(over, begun *uint32) {
	*begun = 1
	for *over == 0 {
		_, _, _ = syscall.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // it runs on, and where processors are few others do too
	}
}

// A reader that is interrupted waits for a writer that runs, which may be in the call.
func TestReaderWaitsForWrite(t *testing.T) {
	a, b := pushing(t)
	if a == nil {
		return
	}
	const n = 8 * part
	h := transport.Header{Seq: 1, Len: n}
	sent, into := long(n, 1), make([]byte, n)
	if err := a.Post(1, &h, sent); err != nil {
		t.Fatal(err)
	}
	// The writer's thread runs all the time: Go must not take its processor away, nor wait for it to collect.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(4, runtime.NumCPU())))
	var begun, over uint32
	wrote, got := make(chan bool), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var preempt, before unix.Sigset_t
		preempt.Val[0] = 1 << (unix.SIGURG - 1)
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &preempt, &before); err != nil {
			t.Error(err)
		}
		defer func() {
			if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
				t.Error(err)
			}
		}()
		d := &a.lanes[1].out.door
		if !a.lanes[1].out.slots[0].begin(0, 0, 0, 1) {
			t.Error("parts have been begun")
		}
		d.reaches[0].base.Store(uint64(addressOf(into)) + n - part)
		d.busy.Store(uint32(unix.Gettid()))
		runUntil(&over, &begun)
		is := d.call(os.Getpid(), 0, sent[n-part:])
		d.busy.Store(0)
		wrote <- is
	}()
	for atomic.LoadUint32(&begun) == 0 {
		time.Sleep(time.Millisecond)
	}
	go func() { got <- b.Recv(0, &transport.Header{Seq: 1, Len: n}, &transport.Sink{Into: into}) }()
	for left := uint32(1); left > 0; _, _, left = a.lanes[1].out.slots[0].parts() { // then it has only the writer to wait for
		time.Sleep(time.Millisecond)
	}
	b.Interrupt(errOver)
	select {
	case err := <-got:
		t.Errorf("Recv returns %v while the writer may be at its memory", err)
		got <- err
	case <-time.After(50 * time.Millisecond):
	}
	atomic.StoreUint32(&over, 1)
	if <-wrote {
		t.Error("a call that began after the interruption writes")
	}
	if err := returns(t, "Recv", func() error { return <-got }); err != errOver {
		t.Errorf("Recv returns %v", err)
	}
}

// stopsWriting begins the names of groups whose rank 1 stops itself right before it writes.
const stopsWriting = stops + "writing "

// stoppedWriterMain is that rank; when it was continued and told to it writes.
func stoppedWriterMain(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	end, err := Join(ctx, name, 1, 2)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	e, sent := end.(*endpoint), long(longLen, 1)
	if err := e.Post(0, &transport.Header{Seq: 1, Len: longLen}, sent); err != nil {
		fmt.Println(err)
		return 1
	}
	at := &e.lanes[0]
	d, s := &at.out.door, &at.out.slots[0]
	for !e.invited(at.out, at, 0) {
		time.Sleep(time.Millisecond)
	}
	runtime.LockOSThread()
	if !s.begin(0, 0, 0, 1) {
		fmt.Println("parts have been begun")
		return 1
	}
	d.reaches[0].base.Store(d.into.Load() + longLen - part)
	d.busy.Store(uint32(unix.Gettid()))
	if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
		fmt.Println(err)
	}
	for at.peer.on.Load() == 0 { // the whole process may have stopped some time after the call
	}
	fmt.Println(d.call(int(at.peer.pid.Load()), 0, sent[longLen-part:]))
	return 0
}

// A writer that is stopped right before it writes keeps nobody, and when it is continued it
// writes nothing.
func TestStoppedWriter(t *testing.T) {
	if a, _ := pushing(t); a == nil {
		return
	}
	name := fmt.Sprint(stopsWriting, time.Now().UnixNano())
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
	end, err := Join(ctx, name, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	e, into := end.(*endpoint), make([]byte, longLen)
	defer e.Close()
	want := transport.Header{Seq: 1, Len: longLen}
	e.Expect(1, &want, into)
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
	if err := returns(t, "Recv", func() error { return e.Recv(1, &want, &transport.Sink{Into: into}) }); err != errOver {
		t.Errorf("Recv returns %v", err)
	}
	_ = returns(t, "Forget", func() error { e.Forget(); return nil })
	clear(into)
	e.seg.rank(0).on.Store(1)
	if err := cmd.Process.Signal(unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != "false" {
		t.Errorf("the rank that was stopped says %q, %v", line, err)
	}
	if !bytes.Equal(into, make([]byte, longLen)) {
		t.Error("the rank that was stopped has written")
	}
}
