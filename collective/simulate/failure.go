package simulate

import (
	"math"
	"slices"
	"time"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
)

// Failure is a rank that dies when it comes to a round of its schedule, from 0.
type Failure struct {
	Rank int
	Step int
	// Silent is a rank that stops without its connections being closed, as a machine
	// does that loses its power: the others learn of it by its silence. Else the
	// transport tells them.
	Silent bool
}

// Verdict is what became of a call one of whose ranks died: what the watches of the
// survivors' Comms do, by the rules of package collective. The notes between them are
// not sent one by one: each rank hands them over one after another, which takes it
// Costs.Send a note, and reads those that come in Costs.Recv each.
type Verdict struct {
	// Fault is what all survivors get; nil where none of them needed the dead rank any
	// more, so that the call succeeded on all.
	Fault    *collective.Fault
	Died     float64 // when the rank died; seconds since the call began
	Noticed  float64 // when the first survivor reported
	Decided  float64 // when the judge had all reports
	Learned  float64 // when the first survivor had the verdict
	Complete float64 // when the last one had it
	Ended    int     // survivors whose part of the call was done before
	Reports  int     // survivors who saw it themselves before they heard of it
	// Witnesses are the survivors that waited for the dead rank itself, by rank. Which
	// of those that see it at one time is named in the Fault is a matter of chance in a
	// real run; here it is the lowest.
	Witnesses []Witness
	Notes     int64 // notes between watches
}

// Witness is a survivor that waited for the dead rank.
type Witness struct {
	Rank int
	Step int // rounds that it had done
}

// looks is how often a watch looks at what its rank waits for, and grace how long a
// rank that is gone may still have messages on their way: those of package
// collective.
const (
	looks = 50 * time.Millisecond
	grace = 50 * time.Millisecond
)

// settle plays what the watches do after the last message has come.
func (e *engine) settle(options collective.Options, op algorithm.Op) *Verdict {
	dead := e.config.Failure.Rank
	if e.ranks[dead].phase != died {
		return nil // its schedule has fewer rounds
	}
	v := &Verdict{Died: e.ranks[dead].clock}
	look := min(options.Heartbeat, looks).Seconds()
	tick := func(t float64) float64 { return math.Ceil(t/look) * look }
	c := &e.inside
	if e.net.Nodes > 1 {
		c = &e.across
	}
	gone := v.Died + c.Latency // when a survivor's watch counts the rank as lost
	if e.config.Failure.Silent {
		beat := options.Heartbeat.Seconds()
		last := math.Floor(v.Died/beat)*beat + c.Latency
		gone = math.Nextafter(tick(last+options.Deadline.Seconds()), math.Inf(1))
	}
	reporter, noticed := -1, math.Inf(1)
	reports := map[int]float64{}
	for r := range e.ranks {
		k := &e.ranks[r]
		if k.phase == done {
			v.Ended++
		}
		if r == dead || !k.needs(int32(dead)) {
			continue
		}
		v.Witnesses = append(v.Witnesses, Witness{r, int(k.steps)})
		moved := tick(k.clock) // the first look that finds the rank where it stays
		t := tick(max(gone, moved+grace.Seconds()))
		reports[r] = t
		if t < noticed {
			reporter, noticed = r, t
		}
	}
	if reporter < 0 {
		return v
	}
	v.Noticed = noticed
	v.judge(c, len(e.ranks), dead, reporter, gone, reports)
	k := &e.ranks[reporter]
	v.Fault = &collective.Fault{
		Cause: collective.Lost, Op: op.String(), Seq: 1, Ranks: []int{dead}, Step: int(k.steps), By: reporter,
		Elapsed: time.Duration((noticed - e.net.Call) * float64(time.Second)),
		Text:    "its connection ended, or it was silent for " + options.Deadline.String(),
	}
	return v
}

// needs says that a rank waits for a message of another, or for it to take one.
func (k *rank) needs(other int32) bool {
	switch k.phase {
	case receiving:
		return int32(k.round.Recvs[k.taken].From) == other
	case flushing:
		return slices.ContainsFunc(k.round.Sends, func(s algorithm.Send) bool { return int32(s.To) == other })
	}
	return false
}

// judge counts the notes: the first report reaches all others one after another,
// each of whom tells all that it has stopped; the lowest survivor decides when it has
// heard of every other, and tells all.
func (v *Verdict) judge(c *costs, n, dead, first int, gone float64, reports map[int]float64) {
	judge := 0
	if dead == 0 {
		judge = 1
	}
	// place is how many notes a rank sends before the one to another rank.
	place := func(from, to int) float64 {
		at := to
		if from < to {
			at--
		}
		if dead < to {
			at--
		}
		return float64(at)
	}
	for _, at := range reports {
		if at == v.Noticed { // later ones hear of the trouble before they would have seen it
			v.Reports++
		}
	}
	stops := make([]float64, n) // when each begins to settle
	for r := range stops {
		if at, met := reports[r]; met && at == v.Noticed {
			stops[r] = at
			continue
		}
		stops[r] = v.Noticed + (place(first, r)+1)*c.Send + c.Latency + c.Recv
	}
	last := max(stops[judge], gone)
	for r, at := range stops {
		if r != dead && r != judge {
			last = max(last, at+(place(r, judge)+1)*c.Send+c.Latency)
		}
	}
	// The judge reads a note of everyone.
	v.Decided = max(last, v.Noticed+c.Latency+float64(n-2)*c.Recv) + c.Recv
	v.Learned, v.Complete = v.Decided, v.Decided
	if n > 2 {
		v.Complete = v.Decided + float64(n-2)*c.Send + c.Latency + c.Recv
	}
	v.Notes = int64(n-1)*int64(n-2) + int64(n-2)
}
