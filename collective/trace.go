package collective

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport"
)

// timelineVariable names the files of timelines: what comes before ".rank.json".
const timelineVariable = "VOLLEY_TIMELINE"

// opened counts the timelines of one name that this process made.
var opened struct {
	sync.Mutex
	paths map[string]int
}

// fromEnvironment is the timeline that the environment asks for, or nil.
func fromEnvironment(rank int) (*timeline.Recorder, error) {
	prefix := os.Getenv(timelineVariable)
	if prefix == "" {
		return nil, nil
	}
	path := fmt.Sprintf("%s.%d.json", prefix, rank)
	opened.Lock()
	defer opened.Unlock()
	if opened.paths == nil {
		opened.paths = map[string]int{}
	}
	if opened.paths[path]++; opened.paths[path] > 1 {
		path = fmt.Sprintf("%s.%d-%d.json", prefix, rank, opened.paths[path])
	}
	return timeline.Create(path)
}

// traced records what an endpoint's calls spend their time on. Payloads come to it in
// parts, so that waiting and copying show apart.
type traced struct {
	transport.Endpoint
	track *timeline.Track
	last  timeline.Message // posted
}

func messageOf(peer int, h *transport.Header) timeline.Message {
	return timeline.Message{Peer: peer, Seq: h.Seq, Step: h.Step, Bytes: h.Len, Pair: h.Call.Op == uint8(sendRecv)}
}

// Post is a send.
func (e *traced) Post(to int, h *transport.Header, payload []byte) error {
	from := e.track.Now()
	err := e.Endpoint.Post(to, h, payload)
	e.last = messageOf(to, h)
	e.track.Message(timeline.Send, from, e.last, err == nil)
	return err
}

// Flush is the end of sends, where it takes time.
func (e *traced) Flush(to int) error {
	from := e.track.Now()
	err := e.Endpoint.Flush(to)
	if e.track.Now()-from > time.Microsecond {
		e.track.Message(timeline.Send, from, timeline.Message{Peer: to, Seq: e.last.Seq, Pair: e.last.Pair}, false)
	}
	return err
}

// Recv waits, and copies or reduces, part by part.
func (e *traced) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	m, phase := messageOf(from, want), timeline.Reduce
	combine := sink.Combine
	if combine == nil {
		into := sink.Into
		phase, combine = timeline.Copy, func(off int, part []byte) { copy(into[off:], part) }
	}
	last, whole := e.track.Now(), false
	parts := transport.Sink{Into: sink.Into, Foreign: sink.Foreign, Combine: func(off int, part []byte) {
		last = e.track.Message(timeline.Wait, last, m, false)
		combine(off, part)
		p := m
		p.Bytes, whole = int64(len(part)), off+len(part) == int(want.Len)
		last = e.track.Message(phase, last, p, whole)
	}}
	err := e.Endpoint.Recv(from, want, &parts)
	if !whole {
		e.track.Message(timeline.Wait, last, m, err == nil)
	}
	return err
}

// lap is the timeline's time, 0 where none is kept.
func (c *Comm) lap() time.Duration {
	if c.track == nil {
		return 0
	}
	return c.track.Now()
}

// traceLocal records a step without a message.
func (c *Comm) traceLocal(p timeline.Phase, from time.Duration, elements int64) {
	if c.track != nil {
		c.track.Local(p, from, c.seq, elements*c.mover.width)
	}
}

// traceOp records the operation that has the turn, at its end.
func (c *Comm) traceOp(op algorithm.Op, from time.Duration, err error) {
	args := ""
	if op != sendRecv {
		call := &c.mover.header.Call
		args = fmt.Sprintf(`,"algorithm":%q,"type":%q,"count":%d,"root":%d`, algorithmName(call.Algorithm), Type(call.Type), call.Count, call.Root)
		if call.Reduce != 0 {
			args += fmt.Sprintf(`,"reduce":%q`, reduceName(call.Reduce))
		}
	}
	if err != nil {
		text, _ := json.Marshal(err.Error()) // a string always can be
		args += `,"error":` + string(text)
	}
	c.track.Op(from, opName(op), c.seq, args)
}

func algorithmName(number uint8) string {
	if n := int(number); n > 0 && n <= len(algorithm.All) {
		return algorithm.All[n-1].Name
	}
	if number == merging {
		return MergeName
	}
	return ""
}

func reduceName(code uint8) string {
	if name := opCodes[code].name; name != "" {
		return name
	}
	return "user"
}
