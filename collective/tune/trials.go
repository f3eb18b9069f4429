package tune

import (
	"slices"
	"time"
)

const (
	// Trials are short and many: other programs take a processor for milliseconds at a
	// time, and their trials are few beside the median.
	trialTime   = 500 * time.Microsecond
	trialsTime  = 5 * time.Millisecond
	fewestTries = 3
	// A transport learns from the first messages of a kind how it moves the others, and puts long vectors into huge
	// pages: so many runs, or as many as take so long, do not count.
	learning     = 24
	learningTime = 200 * time.Millisecond
	// Nor does what a group does in its first moments count: its ranks began at different times,
	// and four of them on two processors took up to four times as long until about then.
	youth = 50 * time.Millisecond
)

// trials are those of one thing: of how many calls the next has, and what a call took.
type trials struct {
	calls int
	took  []float64 // seconds of a call
	done  bool
	begun time.Time
	runs  int
	knows bool // what it learns from the first runs is learnt
	young bool // the group is new
}

func (t *trials) start() { t.calls, t.begun = 1, time.Now() }

// add takes in what a trial took, and what all took since they began.
func (t *trials) add(took, since float64) {
	t.runs += t.calls
	switch {
	case took < trialTime.Seconds() && t.calls < 1<<20:
		t.calls *= 4
	case !t.knows:
		t.knows = (t.runs >= learning || since > learningTime.Seconds()) && (!t.young || since > youth.Seconds())
		if t.knows {
			t.begun = time.Now()
		}
	default:
		t.took = append(t.took, took/float64(t.calls))
		t.done = len(t.took) >= fewestTries && since > trialsTime.Seconds()
	}
}

// median is the middle one, or the less of the two in the middle; it sorts.
func median(all []float64) float64 {
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
