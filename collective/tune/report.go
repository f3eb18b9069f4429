package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport"
)

// Report is what a group of ranks over one transport showed.
type Report struct {
	Figures *Figures `json:"figures"`
	Times   []Timing `json:"times"`
	Host
}

// Host is what a Report has of the state in which it was measured.
type Host struct {
	State State `json:"state"`           // zero where nobody asked
	Units int   `json:"units,omitempty"` // how many measurements there were
	Apart int   `json:"apart,omitempty"` // and how many of them were taken in another state, when no more time was left
}

// Options are how Rank measures.
type Options struct {
	Rounds int // how often all is measured, 1 at the least
	// Watch, if not nil, is an endpoint of the same ranks over memory that they share, of which rank r is on processor r mod
	// processors and nowhere else. By it the host is watched, and all is measured in one of its states.
	Watch transport.Endpoint
	// Prefer is that state, unless the host is seldom in it.
	Prefer State
}

// Rounds is how often all is measured, unless somebody says otherwise: the middle of the rounds' medians counts.
const Rounds = 3

// Rank measures a transport, then times cases over groups split from it, and that
// several times; all ranks call it. Rank 0 gets a Report, the others nil. The caller
// closes the endpoint.
func Rank(ctx context.Context, ends transport.Endpoint, cases []Timing, o Options) (*Report, error) {
	var all []*Report
	var h *host
	if o.Watch != nil {
		var err error
		if h, err = newHost(ctx, o.Watch, o.Prefer, o.Rounds); err != nil {
			return nil, err
		}
	}
	for n, tries := 0, 0; n < max(1, o.Rounds); n, tries = n+1, tries+1 {
		r, err := one(ctx, ends, cases, tries, h)
		if errors.Is(err, errMoved) {
			if err := h.choose(o.Prefer); err != nil {
				return nil, err
			}
			n, all = -1, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	if all == nil {
		return nil, nil
	}
	r := middle(all)
	if h != nil {
		r.Host = h.Host
	}
	return r, nil
}

func everyone(ends transport.Endpoint) []int {
	all := make([]int, ends.Size())
	for r := range all {
		all[r] = r
	}
	return all
}

// one is one round; rank 0 gets its Report.
func one(ctx context.Context, ends transport.Endpoint, cases []Timing, round int, h *host) (*Report, error) {
	f, err := measure(ctx, ends, fmt.Sprintf("measure %d", round), h)
	if err != nil {
		return nil, err
	}
	if err := h.steady(func() (err error) {
		if f != nil {
			f.Call, err = Call(ctx)
		}
		return err
	}); err != nil {
		return nil, err
	}
	times, err := timed(ctx, h, func(ctx context.Context, name string) (transport.Endpoint, error) {
		return ends.Split(ctx, fmt.Sprintf("tune %d %s", round, name), everyone(ends))
	}, cases)
	if err != nil || f == nil {
		return nil, err
	}
	return &Report{Figures: f, Times: times}, nil
}

// Machine is one transport's Reports: of two ranks, and of more.
type Machine struct {
	Figures *Figures `json:"figures"`
	Times   []Timing `json:"times"`
	Hosts   []Host   `json:"hosts,omitempty"` // of the Reports
}

// Join makes a Machine of the Report of two ranks and, if not nil, one of more ranks
// than processors.
func Join(pair, crowd *Report) *Machine {
	f := *pair.Figures
	m := &Machine{Figures: &f, Times: slices.Clone(pair.Times), Hosts: []Host{pair.Host}}
	if crowd != nil {
		m.Figures.Crowd = crowd.Figures.Crowd
		m.Times = append(m.Times, crowd.Times...)
		m.Hosts = append(m.Hosts, crowd.Host)
	}
	return m
}

// Prediction is a time beside the one that was predicted for it.
type Prediction struct {
	Timing
	Predicted float64 `json:"predicted"` // seconds
}

// Error is how far the prediction is off, as a share of the time: 0.1 is a tenth too
// much.
func (p *Prediction) Error() float64 { return p.Predicted/p.Seconds - 1 }

// Predictions predicts all times of a Machine but those of reductions without an algorithm.
func (m *Machine) Predictions(ctx context.Context) ([]Prediction, error) {
	var all []Prediction
	for _, t := range m.Times {
		if t.Algorithm == collective.MergeName {
			continue // what has no schedule is not simulated
		}
		s, err := m.Figures.Predict(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", t.Algorithm, t.Op, err)
		}
		all = append(all, Prediction{t, s})
	}
	return all, nil
}

// Table is a tuning table of machines' transports: the model of each, and for each
// operation, number of ranks and length that was timed the fastest algorithm. A
// length at which the algorithm stays the same has no entry of its own.
func Table(source string, all ...*Machine) *collective.Tuning {
	t := &collective.Tuning{Source: source, Transports: map[string]collective.TransportTuning{}}
	for _, m := range all {
		of := collective.TransportTuning{Model: m.Figures.Model()}
		best := map[string]*Timing{}
		times := slices.Clone(m.Times)
		slices.SortStableFunc(times, func(a, b Timing) int { return cmp.Compare(a.Bytes, b.Bytes) })
		for i := range times {
			x := &times[i]
			key := fmt.Sprint(x.Op, x.Ranks, x.Bytes)
			if y, timed := best[key]; !timed || x.Seconds < y.Seconds {
				best[key] = x
			}
		}
		last := map[string]string{}
		for i := range times {
			x := &times[i]
			b := best[fmt.Sprint(x.Op, x.Ranks, x.Bytes)]
			call := fmt.Sprint(b.Op, b.Ranks)
			if x != b || last[call] == b.Algorithm {
				continue
			}
			last[call] = b.Algorithm
			of.Choices = append(of.Choices, collective.Choice{Op: b.Op, Ranks: b.Ranks, Bytes: b.Bytes, Algorithm: b.Algorithm})
		}
		t.Transports[m.Figures.Transport] = of
	}
	return t
}
