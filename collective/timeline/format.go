package timeline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Event is one object of a trace in Chrome's format. Times are in microseconds.
type Event struct {
	Name  string  `json:"name"`
	Cat   string  `json:"cat,omitempty"`
	Phase string  `json:"ph"` // X: a slice; M: about a process or thread
	Time  float64 `json:"ts,omitempty"`
	Dur   float64 `json:"dur,omitempty"`
	Pid   int     `json:"pid"` // the rank
	Tid   int     `json:"tid"` // its communicator
	Args  Args    `json:"args"`
}

// Args are an event's details.
type Args struct {
	Name      string `json:"name,omitempty"`    // of a process or thread
	Machine   string `json:"machine,omitempty"` // of a process, whose times count from Base, Unix microseconds
	Base      int64  `json:"base,omitempty"`
	Comm      string `json:"comm,omitempty"` // of a thread, with its place
	Rank      int    `json:"rank,omitempty"`
	Size      int    `json:"size,omitempty"`
	Seq       uint64 `json:"seq,omitempty"` // of an operation, or the one that a phase belongs to
	Algorithm string `json:"algorithm,omitempty"`
	Type      string `json:"type,omitempty"`
	Reduce    string `json:"reduce,omitempty"`
	Root      int    `json:"root,omitempty"`
	Count     int64  `json:"count,omitempty"`
	Error     string `json:"error,omitempty"`
	Peer      *int   `json:"peer,omitempty"` // of a phase: the other rank
	Step      uint32 `json:"step,omitempty"`
	Bytes     int64  `json:"bytes,omitempty"`
	Whole     bool   `json:"whole,omitempty"` // the message begins (send) or has come (wait, copy, reduce) with this phase
	Pair      bool   `json:"pair,omitempty"`  // of Send and Recv
}

func (r *Recorder) header() {
	r.write("[\n")
	r.event(&Event{Name: "process_name", Phase: "M", Pid: r.rank, Args: Args{Name: fmt.Sprint("rank ", r.rank), Machine: machine(), Base: r.start.UnixMicro()}})
}

func (r *Recorder) thread(id int, name, transport string, rank, size int) {
	r.write(",\n")
	r.event(&Event{Name: "thread_name", Phase: "M", Pid: r.rank, Tid: id,
		Args: Args{Name: fmt.Sprintf("%s: rank %d of %d over %s", name, rank, size, transport), Comm: name, Rank: rank, Size: size}})
}

func (r *Recorder) event(e *Event) {
	text, err := json.Marshal(e)
	r.keep(err)
	r.write(string(text))
}

// line writes a record as an Event is written, without its cost.
func (r *Recorder) line(e *record) {
	b := r.to.AvailableBuffer()
	b = append(b, ",\n{\"name\":\""...)
	cat := "operation"
	if e.op == "" {
		b, cat = append(b, e.phase.String()...), "phase"
	} else {
		b = append(b, e.op...)
	}
	b = append(append(append(b, `","cat":"`...), cat...), `","ph":"X","ts":`...)
	b = strconv.AppendFloat(b, float64(e.from)/float64(time.Microsecond), 'f', 3, 64)
	b = append(b, `,"dur":`...)
	b = strconv.AppendFloat(b, float64(e.to-e.from)/float64(time.Microsecond), 'f', 3, 64)
	b = append(b, `,"pid":`...)
	b = strconv.AppendInt(b, int64(r.rank), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(e.track), 10)
	b = append(b, `,"args":{"seq":`...)
	b = strconv.AppendUint(b, e.seq, 10)
	if e.args != "" {
		b = append(b, e.args...)
	}
	if e.peer >= 0 {
		b = append(b, `,"peer":`...)
		b = strconv.AppendInt(b, int64(e.peer), 10)
		b = append(b, `,"step":`...)
		b = strconv.AppendUint(b, uint64(e.step), 10)
	}
	if e.bytes > 0 {
		b = append(b, `,"bytes":`...)
		b = strconv.AppendInt(b, e.bytes, 10)
	}
	if e.whole {
		b = append(b, `,"whole":true`...)
	}
	if e.pair {
		b = append(b, `,"pair":true`...)
	}
	b = append(b, "}}"...)
	_, err := r.to.Write(b)
	r.keep(err)
}
