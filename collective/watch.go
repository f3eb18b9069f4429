package collective

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// watch is a Comm's second goroutine: it shows the others that this rank lives,
// sees when they do not, and settles with them which Fault an operation ended with.
//
// Settling: whoever meets trouble tells all ranks, and every rank that hears of it
// stops its operation and tells all that it has. The lowest rank that is not gone
// chooses among the reports, the earliest operation first, and sends its choice to
// all; if it does not within two deadlines it is gone too, and the next one does.
type watch struct {
	c       *Comm
	fault   atomic.Pointer[Fault]
	dead    []int                 // the ranks that Shrink leaves out; set before settledCh is closed
	done    chan struct{}         // closed when fault is set, or when the Comm is closed
	missing atomic.Pointer[[]int] // the ranks of gone
	lost    atomic.Pointer[[]int] // those of them that did not leave
	quit    chan struct{}
	end     sync.Once
	trouble chan *Fault
	do      chan func()   // what others have the goroutine do
	over    chan struct{} // closed when the goroutine has ended

	// The goroutine's own.
	council  council
	ran      time.Time     // when the goroutine had something to do last
	beaten   time.Time     // when it showed that it lives
	woke     time.Time     // when it ran again after it had not for long
	late     bool          // then others may have judged it, having heard nothing
	slept    time.Duration // for so long
	asleep   time.Duration // it did not run, in all,
	before   time.Duration // and before the operation that runs
	cut      []bool        // ranks of gone whose connection has ended; others are silent and may be heard again
	heard    []time.Time
	come     []uint64 // the operations that ranks said they have come to
	calls    []heardCalls
	gone     []Cause // "" for a rank that is there
	reports  []*message
	judging  time.Time // when settling began, zero before
	asked    time.Time // when the present judge's time began
	stuck    []*stuck  // of ranks that do not get on, by their heartbeats
	held     *stuck    // this rank's own,
	beats    int       // heartbeats with the same
	meetings meetings
	last     snapshot
	moved    time.Time // when last changed
	stalled  uint64    // the operation that was reported as stalled
}

// message is a note between watches.
type message struct {
	Kind  string // "report", "verdict", "shrink", "stuck", "sub"
	Fault *Fault `json:",omitempty"`
	Echo  bool   `json:",omitempty"` // a report of a rank that only heard of the trouble
	Dead  []int  `json:",omitempty"`

	// Of "shrink": see council.
	Ballot uint64 `json:",omitempty"`
	In     bool   `json:",omitempty"` // the rank has met the others
	Done   bool   `json:",omitempty"` // all have
	Away   bool   `json:",omitempty"` // it has ended its call, or withdrawn its announcement
	Answer bool   `json:",omitempty"` // to a rank that does not count

	Stuck *stuck     `json:",omitempty"`
	Group *groupNote `json:",omitempty"`
}

// alive is the mark of a heartbeat.
const alive = '.'

func newWatch(c *Comm, since time.Time) *watch {
	n := c.Size()
	w := &watch{c: c, done: make(chan struct{}), quit: make(chan struct{}), trouble: make(chan *Fault, 1),
		do: make(chan func()), over: make(chan struct{}), cut: make([]bool, n), stuck: make([]*stuck, n), meetings: meetings{came: make([]map[string]int, n), went: make([]map[string]int, n)},
		heard: make([]time.Time, n), come: make([]uint64, n), calls: make([]heardCalls, n), gone: make([]Cause, n), reports: make([]*message, n)}
	for r := range w.heard {
		w.heard[r] = since
	}
	w.ran, w.beaten = since, since
	w.council = council{w: w, out: make([]bool, n), views: make([]*message, n)}
	return w
}

// call has the goroutine do something; false where it has ended.
func (w *watch) call(f func()) bool {
	select {
	case w.do <- f:
		return true
	case <-w.over:
		return false
	}
}

// report tells of trouble on this rank; only the first is heard.
func (w *watch) report(f *Fault) {
	s, running := w.c.now.look(time.Now())
	if running {
		f.Op, f.Seq, f.Step, f.Elapsed = s.op, s.seq, s.step, s.elapsed
	}
	f.By = w.c.Rank()
	slices.Sort(f.Ranks)
	select {
	case w.trouble <- f:
	default:
	}
}

// settled waits for the Fault that all ranks agreed on.
func (w *watch) settled() error {
	<-w.done
	if f := w.fault.Load(); f != nil {
		return f
	}
	return w.c.ready("")
}

func (w *watch) stop() {
	w.end.Do(func() { close(w.quit) })
}

func (w *watch) run() {
	o := &w.c.options
	beat := time.NewTicker(o.Heartbeat)
	look := time.NewTicker(min(o.Heartbeat, pause))
	defer beat.Stop()
	defer look.Stop()
	notes := w.c.ends.Notes()
	clocks := time.NewTicker(time.Second)
	defer clocks.Stop()
	defer close(w.over)
	for {
		select {
		case n, open := <-notes:
			if !open {
				notes = nil
				continue
			}
			w.rouse(time.Now())
			w.note(n)
			w.publish()
		case f := <-w.trouble:
			w.rouse(time.Now())
			w.judge(&message{Kind: "report", Fault: f})
		case f := <-w.do:
			w.rouse(time.Now())
			f()
		case <-beat.C:
			w.rouse(time.Now())
			w.tell(heartbeat(&w.c.now))
			w.beaten = w.ran
			w.tellStuck()
		case <-clocks.C:
			compareClocks()
		case <-look.C:
			w.rouse(time.Now())
			w.look(w.ran)
			w.council.step()
			w.publish()
		case <-w.quit:
			w.council.cancel()
			w.council.drop()
			if w.fault.Load() == nil {
				close(w.done)
			}
			return
		}
	}
}

// tell sends a note to all ranks that may hear it, also those that are silent.
func (w *watch) tell(text []byte) {
	for r := range w.gone {
		w.signal(r, text)
	}
}

func (w *watch) signal(r int, text []byte) {
	if r == w.c.Rank() || w.cut[r] {
		return
	}
	if err := w.c.ends.Signal(r, text); err != nil && w.gone[r] == "" {
		w.gone[r] = wentBy(err)
	}
}

func (w *watch) send(m *message) { w.tell(w.encoded(m)) }

func (w *watch) sendTo(r int, m *message) { w.signal(r, w.encoded(m)) }

func (w *watch) encoded(m *message) []byte {
	text, err := json.Marshal(m)
	if err != nil {
		text = heartbeat(&w.c.now) // cannot be: a message has plain fields
	}
	return text
}

// wentBy is how a rank has gone that a transport gives this error of.
func wentBy(err error) Cause {
	if errors.Is(err, transport.ErrLeft) {
		return Left
	}
	return Lost
}

func (w *watch) note(n transport.Note) {
	if n.Err != nil {
		if w.gone[n.From] == "" || !w.cut[n.From] {
			w.gone[n.From] = wentBy(n.Err)
		}
		w.cut[n.From] = true
		w.conclude()
		w.council.step()
		return
	}
	w.heard[n.From] = w.ran
	// A rank that was silent and is heard again before it was judged was late.
	settling := !w.judging.IsZero() && w.fault.Load() == nil
	if w.gone[n.From] == Lost && !w.cut[n.From] && !settling && !w.council.out[n.From] {
		w.gone[n.From] = ""
	}
	if seq, ok := w.calls[n.From].take(n.Text); ok {
		w.come[n.From] = seq
		w.stuck[n.From] = nil
		return
	}
	var m message
	if err := json.Unmarshal(n.Text, &m); err != nil || !m.whole() {
		w.judge(&message{Kind: "report", Fault: &Fault{Cause: Corrupt, Ranks: []int{n.From}, By: w.c.Rank(), Text: "a note that cannot be read"}})
		return
	}
	switch m.Kind {
	case "verdict":
		w.told(n.From, &m)
	case "report":
		if f := w.fault.Load(); f != nil { // it has not heard of what was settled
			w.sendTo(n.From, &message{Kind: "verdict", Fault: f, Dead: w.dead})
			return
		}
		w.reports[n.From] = &m
		w.judge(nil)
	case "shrink":
		w.council.hear(n.From, &m)
	case "stuck":
		if m.Stuck.valid(len(w.gone)) {
			w.stuck[n.From] = m.Stuck
		}
	case "sub":
		w.meetings.hear(n.From, m.Group, m.Away)
	}
}

// whole says that a message has what its kind needs.
func (m *message) whole() bool {
	switch m.Kind {
	case "report", "verdict":
		return m.Fault != nil
	case "stuck":
		return m.Stuck != nil
	case "sub":
		return m.Group != nil
	}
	return m.Kind == "shrink"
}

// told takes a verdict, and passes it on to ranks that it calls dead: one that lives
// has to hear of it from whoever is still there.
func (w *watch) told(from int, m *message) {
	if w.fault.Load() != nil {
		w.council.ousted = w.council.ousted || contains(m.Dead, w.c.Rank()) && !w.council.out[from]
		return
	}
	w.adopt(m.Fault, m.Dead)
	for _, r := range m.Dead {
		w.sendTo(r, m)
	}
}

// judge begins to settle, if that has not begun; own is this rank's report, nil
// where it only heard of one.
func (w *watch) judge(own *message) {
	if w.fault.Load() != nil {
		return
	}
	if w.judging.IsZero() {
		w.judging = w.ran
		w.asked = w.judging
		w.c.ends.Interrupt(errHalt)
		if own == nil {
			f := &Fault{By: w.c.Rank()}
			if s, running := w.c.now.look(w.judging); running {
				f.Op, f.Seq, f.Step, f.Elapsed = s.op, s.seq, s.step, s.elapsed
			}
			own = &message{Kind: "report", Fault: f, Echo: true}
		}
		w.reports[w.c.Rank()] = own
		w.send(own)
	}
	w.conclude()
}

// conclude is the judge's work, when it is this rank and all that are there have
// reported.
func (w *watch) conclude() {
	if w.judging.IsZero() || w.fault.Load() != nil || w.judgeRank() != w.c.Rank() {
		return
	}
	late := w.ran.Sub(w.judging) > w.c.options.Deadline
	for r, m := range w.reports {
		if m == nil && w.gone[r] == "" {
			if !late {
				return
			}
			w.gone[r] = Lost
		}
	}
	if w.late && w.alone() && len(w.gone) > 1 {
		w.adopt(w.own(), []int{w.c.Rank()})
		return
	}
	f := w.choose()
	var dead []int
	for r, why := range w.gone {
		if why != "" || f.deadly() && contains(f.Ranks, r) {
			dead = append(dead, r)
		}
	}
	w.send(&message{Kind: "verdict", Fault: f, Dead: dead})
	w.adopt(f, dead)
}

// deadly says that the ranks to blame are not there any more.
func (f *Fault) deadly() bool { return f.Cause == Lost || f.Cause == Left || f.Cause == Timeout }

// judgeRank is the lowest rank that is there and that no report calls dead.
func (w *watch) judgeRank() int {
	for r, why := range w.gone {
		accused := slices.ContainsFunc(w.reports, func(m *message) bool {
			return m != nil && !m.Echo && m.Fault.deadly() && contains(m.Fault.Ranks, r)
		})
		if why == "" && !accused {
			return r
		}
	}
	return w.c.Rank()
}

// choose is the earliest operation's first report, with all ranks that reports of
// its kind about it blame.
func (w *watch) choose() *Fault {
	var best *Fault
	for _, m := range w.reports {
		if m != nil && !m.Echo && (best == nil || m.Fault.Seq < best.Seq) {
			best = m.Fault
		}
	}
	if best == nil { // every accuser is gone: what they saw went with them
		best = &Fault{Cause: Lost, By: w.c.Rank(), Text: "the ranks that met trouble are gone"}
		if own := w.reports[w.c.Rank()]; own != nil {
			best.Op, best.Seq, best.Step, best.Elapsed = own.Fault.Op, own.Fault.Seq, own.Fault.Step, own.Fault.Elapsed
		}
	}
	f := *best
	f.Ranks = slices.Clone(f.Ranks)
	for _, m := range w.reports {
		if m == nil || m.Echo || m.Fault.Cause != f.Cause || m.Fault.Seq != f.Seq {
			continue
		}
		f.Ranks = append(f.Ranks, m.Fault.Ranks...)
	}
	if f.Cause == Lost {
		for r, why := range w.gone {
			if why == Lost {
				f.Ranks = append(f.Ranks, r)
			}
		}
	}
	slices.Sort(f.Ranks)
	f.Ranks = slices.Compact(f.Ranks)
	return &f
}

// adopt ends the settling.
func (w *watch) adopt(f *Fault, dead []int) {
	if w.fault.Load() != nil {
		return
	}
	w.dead = dead
	for _, r := range dead {
		if r == w.c.Rank() {
			w.council.ousted = true
		} else if r >= 0 && r < len(w.council.out) {
			w.council.out[r] = true
		}
	}
	w.c.faulted(f.Cause)
	w.fault.Store(f)
	w.c.ends.Interrupt(errHalt)
	close(w.done)
}

// look finds ranks that fell silent, operations that wait for a rank that is gone,
// and judges that do not judge.
func (w *watch) look(now time.Time) {
	o := &w.c.options
	for r, at := range w.heard {
		if r != w.c.Rank() && w.gone[r] == "" && now.Sub(at) > o.Deadline {
			w.gone[r] = Lost
		}
	}
	w.caughtUp()
	if w.fault.Load() != nil {
		return
	}
	if !w.judging.IsZero() {
		if now.Sub(w.asked) > 2*o.Deadline {
			if judge := w.judgeRank(); judge != w.c.Rank() {
				w.gone[judge] = Lost
			}
			w.asked = now
		}
		w.conclude()
		return
	}
	f := w.circle()
	if f == nil {
		f = w.meetings.overdue(w)
	}
	if f != nil {
		w.report(f)
		return
	}
	s, running := w.c.now.look(now)
	if !running {
		return
	}
	if s.seq != w.last.seq || s.op != w.last.op {
		w.before = w.asleep
	}
	if s.seq != w.last.seq || s.moves != w.last.moves || s.waiting != w.last.waiting {
		w.last, w.moved = s, now
		return
	}
	w.stall(s, now)
}

// stall looks at an operation that has not moved since the last look.
func (w *watch) stall(s snapshot, now time.Time) {
	o := &w.c.options
	if s.waiting < 0 {
		return
	}
	// Of a rank that has left the lane tells, behind the last message that it sent.
	if w.gone[s.waiting] == Lost && now.Sub(w.moved) >= pause {
		w.report(&Fault{Cause: Lost, Ranks: []int{s.waiting}, Text: "its connection ended, or it was silent for " + o.Deadline.String()})
		return
	}
	if now.Sub(w.moved) >= o.Heartbeat {
		if f := w.differing(s.seq); f != nil {
			w.report(f)
			return
		}
	}
	if o.Timeout > 0 && s.elapsed-(w.asleep-w.before) > o.Timeout {
		w.report(&Fault{Cause: Timeout, Ranks: []int{s.waiting}, Text: w.unjoined()})
		return
	}
	if s.elapsed > o.Stall && w.stalled != s.seq {
		w.stalled = s.seq
		w.c.waited()
		if o.OnStall != nil {
			o.OnStall(Stall{Op: s.op, Seq: s.seq, Step: s.step, Waiting: s.waiting, Absent: w.absent(s.seq), Elapsed: s.elapsed})
		}
	}
}

// unjoined says what waits for a rank that does not come.
func (w *watch) unjoined() string {
	text := "it has not joined the operation"
	if s := w.current(); s != nil {
		text += ": " + s.Text + " waits for it"
	}
	return text
}

// absent are the ranks that had not come to an operation when they last said where they
// are, which is a heartbeat ago at most.
func (w *watch) absent(seq uint64) (ranks []int) {
	for r, at := range w.come {
		if r != w.c.Rank() && at < seq {
			ranks = append(ranks, r)
		}
	}
	return ranks
}
