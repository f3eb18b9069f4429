package transport

import (
	"context"
	"errors"
	"fmt"
)

// ErrLeft is the error of a note, or of a lane, whose rank closed its endpoint.
var ErrLeft = errors.New("the rank has left")

// Call is what every message says of the call that it belongs to, so that a
// receiver sees when its sender is in another call than itself.
type Call struct {
	Op        uint8 // algorithm.Op, or a point-to-point message
	Type      uint8 // of the elements on the wire
	Reduce    uint8 // the reduction, 0 for none
	Algorithm uint8 // its number in the table
	Root      int32
	Count     int64 // the call's length in elements
}

// Header precedes every message.
type Header struct {
	Seq  uint64 // the operation's number in its communicator, from 1
	Step uint32 // the message's number on its lane within the operation, from 0
	Sum  uint32 // CRC-32C of the payload where the endpoint is Checked, else 0
	Len  int64  // bytes of payload
	Call Call
}

// Sink takes a message's payload. Combine, if not nil, is called with its parts
// in order: off is the part's first byte, and parts but the last are multiples of
// 64 bytes, so elements stay whole; part is only valid during the call and is
// aligned as its elements must be. Without Combine the payload goes to Into, which
// is as long as the message. Foreign says that Combine calls code of the user, which
// may never return. Apart says that parts may be combined in any order and several at
// once, by other goroutines too, as long as Recv has not returned.
type Sink struct {
	Into    []byte
	Combine func(off int, part []byte)
	Foreign bool
	Apart   bool
}

// Note is a message beside the lanes: small, unordered with them, never blocked by
// them. A note without Text says that the transport lost its connection to the
// rank; Err says how.
type Note struct {
	From int
	Text []byte
	Err  error
}

// Endpoint is one rank's end of a transport. Post, Flush and Recv are called by
// one goroutine at a time; everything else by any.
type Endpoint interface {
	// Rank is this end's place among the ends, from 0.
	Rank() int
	// Size is how many ends there are.
	Size() int
	// Name says which transport this is: "inproc", "shm", "tcp", "mpi", "shm+tcp".
	Name() string
	// Post hands a message over. The payload must not change before Flush returned.
	// It may wait for room on the lane, never for the receiver to ask for this
	// message while the lane has room: at least 8 messages always have. Post and Flush
	// that would wait for a rank which has left may return ErrLeft.
	Post(to int, h *Header, payload []byte) error
	// Flush waits until all payloads posted to a rank may be changed.
	Flush(to int) error
	// Recv takes the next message of a lane, which must be want: everything in the
	// header but Sum is compared before the payload is touched, and a message that is
	// another one is dropped and gives a *Mismatch. want.Sum is set to the sum that
	// came. Behind the last message of a rank that has left comes ErrLeft.
	Recv(from int, want *Header, sink *Sink) error
	// Signal sends a note. It does not wait for the receiver.
	Signal(to int, text []byte) error
	// Notes has the notes that came for this rank. It is closed by Close.
	Notes() <-chan Note
	// Interrupt makes Post, Flush and Recv return err, those that wait now and all
	// later ones. Once Flush has returned, which does not wait for other processes then,
	// payloads may change or be freed: what has not been received whole by then is never
	// received.
	Interrupt(err error)
	// Split makes an endpoint of the same transport, or of one of those that it is made of,
	// for some of the ranks, numbered in the order given, which is the same on all of them; so is the name, which no other
	// split of these ranks has. It meets the others, so all of them call it; ranks that
	// are not listed do not. Where the transport knows that a member cannot come any more
	// the error is an *Absent. Where it ends because another member has given up, the error may be a *PeerError. A member that
	// gave up may come again, by the same name.
	Split(ctx context.Context, name string, members []int) (Endpoint, error)
	// Close leaves the transport: other ranks get a note with an error. What was posted
	// and flushed before still arrives.
	Close() error
}

// Eager is an Endpoint that copies short payloads.
type Eager interface {
	// Eager is how many bytes a payload may have of which nothing is read any more when
	// Post has returned, so that it needs no Flush.
	Eager() int
}

// Sharer is an Endpoint whose ranks can do each other's work, having one memory.
type Sharer interface {
	// Share does do over [0, n) bytes in parts, each once, and returns when all are done. They
	// begin at multiples of 64, come in any order, and several at once: other ranks that wait
	// in the transport meanwhile do some. copied says that do does nothing but copy.
	Share(n int, copied bool, do func(from, to int))
}

// Expecter is an Endpoint that moves bytes of long messages while their receiver is at something
// else.
type Expecter interface {
	// Expect says that the next message of a lane, if it is want, goes to into, and to no
	// reduction, so that its bytes may come there from now on. Recv of that message, into the
	// same place, comes next on the lane, or Forget.
	Expect(from int, want *Header, into []byte)
	// Forget takes back what was expected and not received: nothing is written there any more.
	Forget()
	// Copy copies from one to the other, which are of the same length; what of from was posted
	// and is expected goes to other ranks meanwhile.
	Copy(into, from []byte)
}

// Exchanger is an Endpoint that has more than one way for messages of middle length, of which another one is
// the best where all ranks send to each other at the same time.
type Exchanger interface {
	// Exchange says that this rank now posts a message of n bytes to every other one, and then receives one from
	// each into memory of its own, as all ranks do. flush says that these messages must be flushed
	// whatever Eager says.
	Exchange(n int) (flush bool)
	// Exchanged says that all this has been done.
	Exchanged()
}

// Merger is an Endpoint whose ranks read and write each other's vectors, so that reductions of long
// ones need no schedule.
type Merger interface {
	// Merges says whether vectors of n bytes had best be merged so. All ranks of a group are told the same.
	Merges(to Merged, n int) bool
	// Merge is one rank's part of a reduction, which all ranks of the group call at the same place among their
	// messages. When it returns the vectors are the caller's again, also with an error: nothing is written
	// there any more. Its errors are those of Recv and Flush.
	Merge(m *Merge) error
}

// Merged is who has the result of a merge.
type Merged uint8

// All ranks have it, or one, or each the block of its number.
const (
	ToAll Merged = iota
	ToRoot
	ToBlocks
)

// Merge is a reduction without messages.
type Merge struct {
	Header *Header // of the call; Len and Step are not looked at
	To     Merged
	Root   int // of ToRoot
	// In is this rank's vector, as long as all others. Out is where the result goes: as long, or empty where the rank has none, or
	// the Size-th part. They are the same memory, Out is the rank's own block of In, or they do not overlap.
	In, Out []byte
	// Combine sets into[i] = a[i] ⊕ b[i]; into may be a or b. It is called with whole elements if
	// those divide 64 bytes, a of lower ranks than b, in the order of the canonical tree over ranks.
	Combine func(into, a, b []byte)
	// Past, where it is not nil, sets every one of into to what all of of come to, which are given by rank, with stores past the
	// caches, and says whether it did. The same holds of elements and order.
	Past func(into, of [][]byte) bool
	// Combining, where it is not nil, is called with true when all vectors are there and with false when the own block is combined.
	Combining func(begins bool)
	// On is called with the rank that is waited for from then on; an error is of the last one.
	On func(rank int)
}

// Releaser is an Endpoint that keeps memory for calls that Close has interrupted and that may still be on their way.
type Releaser interface {
	// Release gives that memory back. It comes after Close, when no Post, Flush, Recv or other call of the one goroutine at a
	// time is running or will come.
	Release()
}

// Describer is an Endpoint that tells how it carries messages here.
type Describer interface {
	// Describe is a line of text.
	Describe() string
}

// Machines is an Endpoint whose ranks may be on several machines.
type Machines interface {
	// Machines says which machine each rank is on: numbers that are equal for ranks of one
	// machine. All ranks of a group are told the same, or schedules that go by it would wait
	// for each other for ever. nil: all are on one.
	Machines() []int
}

// Absent is a member of a split that has not come and cannot any more.
type Absent struct {
	Rank int   // among the ranks that are split
	Err  error // ErrLeft, or how it was lost
}

// Error names the rank.
func (a *Absent) Error() string { return fmt.Sprintf("rank %d cannot come: %v", a.Rank, a.Err) }

// Unwrap is why.
func (a *Absent) Unwrap() error { return a.Err }

// PeerError is the error of a split that came to nothing because of another member, which has given up or could not
// join. That rank alone knows why.
type PeerError struct{ Err error }

// Error says which rank it was, where that is known.
func (p *PeerError) Error() string { return p.Err.Error() }

// Unwrap is the transport's own error.
func (p *PeerError) Unwrap() error { return p.Err }

// Mismatch is a message that belongs to another call than its receiver is in.
type Mismatch struct {
	From      int
	Want, Got Header
}

// Error gives both headers.
func (m *Mismatch) Error() string {
	return fmt.Sprintf("message of rank %d is %+v, expected %+v", m.From, m.Got, m.Want)
}

// Corrupt is a message whose payload is not the one that was sent.
type Corrupt struct {
	From int
	Got  Header
}

// Error names the message.
func (c *Corrupt) Error() string {
	return fmt.Sprintf("message %d.%d of rank %d: %d bytes that do not match their checksum", c.Got.Seq, c.Got.Step, c.From, c.Got.Len)
}

// Check compares a message's header with the one expected.
func Check(from int, want, got *Header) error {
	if got.Seq != want.Seq || got.Step != want.Step || got.Len != want.Len || got.Call != want.Call {
		return &Mismatch{From: from, Want: *want, Got: *got}
	}
	return nil
}
