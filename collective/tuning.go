package collective

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/device"
)

// TuningVariable is the environment variable that names the file of a Tuning for
// Comms whose Options have none.
const TuningVariable = "VOLLEY_COLLECTIVE_TUNING"

// Tuning is what was measured on a machine: for each transport the model of its
// costs, by which algorithms are weighed, and the algorithms that were found best. "shm+tcp", where it has no entry of its
// own, is weighed by the models of "tcp" between machines and "shm" within them; choices it has only of its own. Where a choice of an operation and
// number of ranks is MergeName, the table also says from which length on the transport does it without an algorithm, if it
// can; without such choices the transport says so.
// All ranks of a Comm use the same; where they do not, a call in which they choose
// differently ends in a Fault that names both choices. "volley bench
// collective --tune FILE" makes one.
type Tuning struct {
	Source     string                     `json:"source"` // where it was measured, for people
	Transports map[string]TransportTuning `json:"transports"`
}

// TransportTuning is the part of one transport.
type TransportTuning struct {
	Model   algorithm.Model `json:"model"`
	Choices []Choice        `json:"choices,omitempty"`
}

// Choice is the algorithm of an operation with a number of ranks, for vectors (all
// blocks together) of Bytes and more, up to the next Choice of the operation and
// ranks. The first of them holds below its Bytes too. Other numbers of ranks are left
// to the model.
type Choice struct {
	Op        string `json:"op"`
	Ranks     int    `json:"ranks"`
	Bytes     int64  `json:"bytes"`
	Algorithm string `json:"algorithm"`
}

// ReadTuning reads what WriteTo wrote. A field that is not known, an operation or an
// algorithm that there is not, and costs that cannot be are errors.
func ReadTuning(r io.Reader) (*Tuning, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	t := &Tuning{}
	err := d.Decode(t)
	if err == nil {
		err = t.check()
	}
	if err != nil {
		return nil, &device.Error{Call: "collective.ReadTuning", Kind: device.ErrMismatch, Cause: err}
	}
	return t, nil
}

// LoadTuning reads a file.
func LoadTuning(path string) (*Tuning, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &device.Error{Call: "collective.LoadTuning", Kind: device.ErrUnavailable, Cause: err}
	}
	defer f.Close()
	t, err := ReadTuning(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// WriteTo writes the Tuning as JSON.
func (t *Tuning) WriteTo(w io.Writer) (int64, error) {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return 0, err
	}
	n, err := w.Write(append(text, '\n'))
	return int64(n), err
}

func (t *Tuning) check() error {
	if len(t.Transports) == 0 {
		return fmt.Errorf("a tuning without transports")
	}
	for name, of := range t.Transports {
		m := of.Model
		for _, x := range []float64{m.Alpha, m.Beta, m.Gamma} {
			if math.IsNaN(x) || x < 0 || x > 1 {
				return fmt.Errorf("%s: a model of %v seconds a message, %v and %v a byte", name, m.Alpha, m.Beta, m.Gamma)
			}
		}
		if m.Alpha == 0 || m.Beta == 0 {
			return fmt.Errorf("%s: a model in which messages cost nothing", name)
		}
		for _, c := range of.Choices {
			op, err := algorithm.ParseOp(c.Op)
			if _, reduces := mergers[op]; err == nil && (c.Algorithm != MergeName || !reduces) {
				_, err = algorithm.Named(c.Algorithm, op)
			}
			if err == nil && (c.Ranks < 1 || c.Bytes < 0) {
				err = fmt.Errorf("%d ranks, %d bytes", c.Ranks, c.Bytes)
			}
			if err != nil {
				return fmt.Errorf("%s: choice %+v: %w", name, c, err)
			}
		}
	}
	return nil
}

// measured is the model that the table has of a transport.
func (t *Tuning) measured(transport string) (m algorithm.Model, ok bool) {
	if t != nil {
		m = t.Transports[transport].Model
	}
	return m, m != (algorithm.Model{})
}

// figures are the model of a transport, whose rough figures stand where nothing was measured, and whether something was.
// Of one that is two, and was not measured itself, they are those of each.
func (t *Tuning) figures(transport string, rough algorithm.Model) (m algorithm.Model, tuned bool) {
	m, tuned = t.measured(transport)
	if !tuned && transport == mixed.Name {
		m, tuned = t.measured("tcp")
	}
	if !tuned {
		m = rough
	}
	m.Pulled, m.Within = rough.Pulled, rough.Within
	if m.Within != nil {
		within, too := t.figures("shm", *m.Within)
		m.Within, tuned = &within, tuned || too
	}
	return m, tuned
}

// merges says whether a call that the transport can merge is merged: where the table has timed merges, by what it has for the
// call, else always.
func (t *Tuning) merges(transport string, op algorithm.Op, ranks int, bytes int64) bool {
	if t == nil {
		return true
	}
	timed := false
	for _, c := range t.Transports[transport].Choices {
		timed = timed || c.Ranks == ranks && c.Op == op.String() && c.Algorithm == MergeName
	}
	if !timed {
		return true
	}
	c := t.entry(transport, op, ranks, bytes)
	return c != nil && c.Algorithm == MergeName
}

// entry is the choice that the table has for a call, or nil.
func (t *Tuning) entry(transport string, op algorithm.Op, ranks int, bytes int64) *Choice {
	var best, least *Choice
	all := t.Transports[transport].Choices
	for i := range all {
		c := &all[i]
		if c.Ranks != ranks || c.Op != op.String() {
			continue
		}
		if least == nil || c.Bytes < least.Bytes {
			least = c
		}
		if c.Bytes <= bytes && (best == nil || c.Bytes > best.Bytes) {
			best = c
		}
	}
	if best == nil {
		best = least
	}
	return best
}

// choice is the algorithm that the table has for a call, or nil.
func (t *Tuning) choice(transport string, op algorithm.Op, ranks int, bytes int64) *algorithm.Algorithm {
	if t == nil {
		return nil
	}
	best := t.entry(transport, op, ranks, bytes)
	if best == nil {
		return nil
	}
	a, err := algorithm.Named(best.Algorithm, op)
	if err != nil {
		return nil // check has found such a name
	}
	return a
}

// tune finds the Tuning that the environment names, where the options have none.
func (o *Options) tune() error {
	if o.Tuning != nil {
		if err := o.Tuning.check(); err != nil {
			return &device.Error{Call: "collective.New", Kind: device.ErrMismatch, Text: "Options.Tuning", Cause: err}
		}
		return nil
	}
	path := os.Getenv(TuningVariable)
	if path == "" {
		return nil
	}
	t, err := LoadTuning(path)
	if err != nil {
		return fmt.Errorf("%s: %w", TuningVariable, err)
	}
	o.Tuning = t
	return nil
}
