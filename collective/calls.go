package collective

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/release"
)

// recentCalls says which the latest calls of a rank were. Messages show that two ranks are in
// different calls only where one of them gets one of the other: a rank that gathers and
// one that reduces to it may each wait for a third. So heartbeats tell of the calls too,
// and who waits compares. Written by the operation's goroutine, read by the watch's.
type recentCalls [recent][3]atomic.Uint64

// recent is how many they are: those that only send may be over long before
// others see that they were not theirs.
const recent = 8

// called is one of them, packed as words: the call's fields but Count, Count, and
// the operation's number, 0 where there is none.
type called [3]uint64

func callOf(seq uint64, c *transport.Call) called {
	return called{uint64(c.Op) | uint64(c.Type)<<8 | uint64(c.Reduce)<<16 | uint64(c.Algorithm)<<24 | uint64(uint32(c.Root))<<32, uint64(c.Count), seq}
}

func (c called) call() transport.Call {
	return transport.Call{Op: uint8(c[0]), Type: uint8(c[0] >> 8), Reduce: uint8(c[0] >> 16), Algorithm: uint8(c[0] >> 24), Root: int32(c[0] >> 32), Count: int64(c[1])}
}

func (r *recentCalls) put(seq uint64, c *transport.Call) {
	words, to := callOf(seq, c), &r[seq%recent]
	release.Store64(&to[2], 0) // who reads meanwhile sees that there is nothing
	release.StoreThree(to, words[0], words[1], words[2])
}

// at is the call of an operation; false where it is not among the latest.
func (r *recentCalls) at(seq uint64) (c called, ok bool) {
	from := &r[seq%recent]
	c[2] = from[2].Load()
	c[0], c[1] = from[0].Load(), from[1].Load()
	return c, seq > 0 && c[2] == seq && from[2].Load() == seq
}

// heartbeat is a note that says so: alive, the number of the operation that the rank has come to, and
// its latest calls, in words of 8 bytes, the lowest byte first.
func heartbeat(p *progress) []byte {
	seq := p.seq()
	text := binary.LittleEndian.AppendUint64([]byte{alive}, seq)
	for n := seq; n > 0 && n+recent > seq; n-- {
		if c, ok := p.calls.at(n); ok {
			for _, word := range c {
				text = binary.LittleEndian.AppendUint64(text, word)
			}
		}
	}
	return text
}

// heardCalls are the latest calls of another rank, by its heartbeats.
type heardCalls [recent]called

// take reads a heartbeat; false where the text is none.
func (h *heardCalls) take(text []byte) (seq uint64, ok bool) {
	if len(text) < 9 || text[0] != alive || (len(text)-9)%24 != 0 {
		return 0, false
	}
	for rest := text[9:]; len(rest) > 0; rest = rest[24:] {
		n := binary.LittleEndian.Uint64(rest[16:])
		h[n%recent] = called{binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:]), n}
	}
	return binary.LittleEndian.Uint64(text[1:]), true
}

// differing is the Fault of ranks that are in different calls with this one at the
// operation that it is in, as far as it knows; nil where there are none. Those are to
// blame that have another call than most, else all of whom it knows.
func (w *watch) differing(seq uint64) *Fault {
	self := w.c.Rank()
	own, ok := w.c.now.calls.at(seq)
	if !ok {
		return nil
	}
	untyped := own.call().Type == 0 // of a rank that has no vector
	for r := range w.calls {
		untyped = untyped || r != self && w.calls[r][seq%recent][2] == seq && w.calls[r][seq%recent].call().Type == 0
	}
	ranks, in := []int{self}, map[called]int{}
	other := -1
	of := func(r int) called {
		c := own
		if r != self {
			c = w.calls[r][seq%recent]
		}
		if untyped {
			c[0] &^= 0xff00ff00 // type and algorithm
		}
		return c
	}
	in[of(self)]++
	for r := range w.calls {
		if c := of(r); r != self && c[2] == seq {
			ranks = append(ranks, r)
			in[c]++
			if other < 0 && c != of(self) {
				other = r
			}
		}
	}
	if other < 0 {
		return nil
	}
	var blamed []int
	for _, r := range ranks {
		if 2*in[of(r)] <= w.c.Size() {
			blamed = append(blamed, r)
		}
	}
	theirs, mine := w.calls[other][seq%recent].call(), own.call()
	return &Fault{Cause: Mismatch, Ranks: blamed, Text: fmt.Sprintf("%s meets %s", describeCall(other, seq, &theirs)+")", describeCall(self, seq, &mine)+")")}
}

// describeCall names a call for people, up to its closing bracket.
func describeCall(rank int, seq uint64, call *transport.Call) string {
	text := fmt.Sprintf("%s #%d of rank %d (%d", opName(algorithm.Op(call.Op)), seq, rank, call.Count)
	if call.Type != 0 {
		text += " " + Type(call.Type).String()
	}
	if call.Reduce != 0 {
		name := opCodes[call.Reduce].name
		if name == "" {
			name = "a user's reduction"
		}
		text += ", " + name
	}
	if call.Root != 0 {
		text += fmt.Sprintf(", root %d", call.Root)
	}
	if name := algorithmName(call.Algorithm); name != "" {
		text += ", " + name
	}
	return text
}
