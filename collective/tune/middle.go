package tune

import (
	"slices"

	"github.com/volley-go/volley/device"
)

// middle is the middle of what several Reports of one group have, in the first of them.
func middle(all []*Report) *Report {
	r := all[0]
	figures, times := make([]*Figures, len(all)), make([][]Timing, len(all))
	for i, x := range all {
		figures[i], times[i] = x.Figures, x.Times
	}
	r.Figures, r.Times = middleFigures(figures), middleTimes(times)
	return r
}

// middleFigures has the middle of each number of several measurements of the same.
func middleFigures(all []*Figures) *Figures {
	f := all[0].clone()
	values := make([][]float64, len(f.numbers()))
	for _, x := range all {
		for i, v := range x.numbers() {
			values[i] = append(values[i], *v)
		}
	}
	for i, into := range f.numbers() {
		*into = median(values[i])
	}
	return f
}

// middleTimes has the middle of all rounds of each of the same cases.
func middleTimes(all [][]Timing) []Timing {
	times := slices.Clone(all[0])
	for i := range times {
		t := &times[i]
		t.Rounds = nil
		for _, x := range all {
			t.Rounds = append(t.Rounds, x[i].Rounds...)
		}
		t.Seconds = median(t.Rounds)
	}
	return times
}

// Middle is the middle of what several measurements of one transport by the same program
// found, with all their rounds. It is an error (device.ErrMismatch) if they are not of the
// same transport, lengths and cases, in the same state of the host.
func Middle(all ...*Machine) (*Machine, error) {
	figures, times := make([]*Figures, len(all)), make([][]Timing, len(all))
	for i, m := range all {
		first := all[0]
		same := len(m.Times) == len(first.Times) && m.Figures.Transport == first.Figures.Transport && (m.Figures.Crowd == nil) == (first.Figures.Crowd == nil) && len(m.Figures.numbers()) == len(first.Figures.numbers())
		for k := range first.Times {
			same = same && m.Times[k].what() == first.Times[k].what()
		}
		for k := range min(len(first.Hosts), len(m.Hosts)) {
			same = same && m.Hosts[k].State.Is(first.Hosts[k].State)
		}
		if !same {
			return nil, device.Errorf(device.ErrMismatch, "", "tune", "measurement %d is of another transport, of other cases, or of another state of the host than the first", i+1)
		}
		figures[i], times[i] = m.Figures, m.Times
	}
	if len(all) == 0 {
		return nil, device.Errorf(device.ErrMismatch, "", "tune", "no measurement")
	}
	return &Machine{Figures: middleFigures(figures), Times: middleTimes(times), Hosts: all[0].Hosts}, nil
}
