package profile

import "encoding/json"

// traceEvent is an event of Chrome's trace format; times are in microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Start    float64        `json:"ts"`
	Duration float64        `json:"dur"`
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// Chrome is the times of all workers in Chrome's trace format, for chrome://tracing and Perfetto: a
// row for each worker, with the steps at which it was busy or waited.
func (p *Profile) Chrome() (string, error) {
	all := []traceEvent{}
	for i, w := range p.Workers {
		all = append(all, traceEvent{Name: "thread_name", Phase: "M", Process: 1, Thread: i, Args: map[string]any{"name": w.Name}})
	}
	for _, e := range p.events {
		if e.at.step >= len(p.Steps) {
			continue
		}
		s := p.Steps[e.at.step]
		t := traceEvent{Name: s.Text, Category: "busy", Phase: "X", Start: float64(e.start) / 1e3, Duration: float64(e.end-e.start) / 1e3, Process: 1, Thread: e.worker,
			Args: map[string]any{"step": s.ID, "kind": s.Kind}}
		if e.at.wait {
			t.Name, t.Category = "waiting: "+s.Text, "wait"
		}
		all = append(all, t)
	}
	text, err := json.Marshal(map[string]any{"traceEvents": all, "displayTimeUnit": "ms"})
	return string(text) + "\n", err
}
