package profile

import (
	"encoding/json"
	"strings"
	"time"
)

// Profile is a query: its plans, steps and pipelines, and, if it was run, what was measured.
type Profile struct {
	Device  string        `json:"device,omitempty"`
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`  // from the call to its end
	Planned time.Duration `json:"planning_ns,omitempty"` // of it: checks and rules, without the plans of scalars
	Rows    int64         `json:"rows,omitempty"`        // of the result
	// Plans are those of scalars in the order in which they are run, and the result's.
	Plans []*Plan `json:"plans"`
	// Steps are what the plans are run by; ID is a step's place here.
	Steps []*Step `json:"steps"`
	// Pipelines are the steps that workers run one after the other with each morsel.
	Pipelines []*Pipeline `json:"pipelines"`
	// Workers are the goroutines of the run; the first is the caller's.
	Workers []Worker `json:"workers,omitempty"`

	events  []event
	dropped int64 // events that there was no place for
}

// Plan is a tree of operators after the rules were applied.
type Plan struct {
	Name string `json:"name"` // "result", "scalar NAME" or what else is run
	Step int    `json:"step"` // the last step
	Root *Node  `json:"root"`
}

// Node is an operator of a plan.
type Node struct {
	ID      int      `json:"id"` // counted from 0 over all plans
	Op      string   `json:"op"`
	Text    string   `json:"text"` // as Explain shows it
	Columns []string `json:"columns"`
	Rows    *float64 `json:"estimated_rows,omitempty"`
	// Conditions are what rows must meet to pass: all of them.
	Conditions []string `json:"conditions,omitempty"`
	// SourceConditions are what a source may use to leave out rows, whole row groups say. They
	// are also tested exactly, by a filter above.
	SourceConditions []string `json:"source_conditions,omitempty"`
	Steps            []int    `json:"steps,omitempty"` // which run it
	Inputs           []*Node  `json:"inputs,omitempty"`
}

// Step is a part of the run: a source, an operator, a pipeline's output.
type Step struct {
	ID       int    `json:"id"`
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	Nodes    []int  `json:"nodes,omitempty"`    // that it runs, wholly or in part
	Inputs   []int  `json:"inputs,omitempty"`   // steps; of a join the left side, then the right
	Pipeline *int   `json:"pipeline,omitempty"` // in which it is an operator, or whose output it is
	// Total is the sum of the workers' measures. The rows in of a step outside of pipelines are those
	// that its inputs give, of a join those of the left one.
	Total   *Measure  `json:"total,omitempty"`
	Workers []Measure `json:"workers,omitempty"`
}

// The kinds of steps that are no operators of a plan.
const (
	KindPlan   = "plan"   // resolving and rules
	KindResult = "result" // the caller's loop over the result
	KindOutput = "output" // of a pipeline, in order: workers wait here for the consumer, and it for them
)

// Measure is what was measured at a step, of one worker or of all.
type Measure struct {
	Worker     int           `json:"worker"` // a place in Profile.Workers; 0 in totals
	RowsIn     int64         `json:"rows_in"`
	RowsOut    int64         `json:"rows_out"`
	BatchesIn  int64         `json:"batches_in"`
	BatchesOut int64         `json:"batches_out"`
	BytesIn    int64         `json:"bytes_in"` // without dictionaries
	BytesOut   int64         `json:"bytes_out"`
	Busy       time.Duration `json:"busy_ns"` // in the step itself
	Wait       time.Duration `json:"wait_ns"` // for other workers
}

func (m *Measure) add(o Measure) {
	m.RowsIn += o.RowsIn
	m.RowsOut += o.RowsOut
	m.BatchesIn += o.BatchesIn
	m.BatchesOut += o.BatchesOut
	m.BytesIn += o.BytesIn
	m.BytesOut += o.BytesOut
	m.Busy += o.Busy
	m.Wait += o.Wait
}

// Pipeline is a source, the steps that morsels of it go through, and the output.
type Pipeline struct {
	ID         int   `json:"id"`
	Source     int   `json:"source"`
	Steps      []int `json:"steps"`
	Output     int   `json:"output"`
	Workers    int   `json:"workers,omitempty"`
	MorselRows int64 `json:"morsel_rows,omitempty"` // 0 if morsels are whole batches
	// Discarded are rows that came out of the last step and were not taken, as the consumer had enough
	// or the query ended.
	Discarded int64 `json:"discarded_rows,omitempty"`
}

// Worker is a goroutine of a run.
type Worker struct {
	Name  string        `json:"name"`
	Start time.Duration `json:"start_ns"` // since the run began
	End   time.Duration `json:"end_ns"`
}

// event is a time that a worker spent at one step.
type event struct {
	worker int
	at     Mark
	start  time.Duration
	end    time.Duration
}

// JSON is the profile as JSON: the fields of Profile, times in nanoseconds.
func (p *Profile) JSON() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(p)
	return b.String(), err
}

// Formats are what Render knows.
var Formats = []string{"text", "json", "html", "fragment", "chrome"}

// Render is the profile in one of Formats; ok is false of another.
func (p *Profile) Render(format string) (text string, ok bool, err error) {
	switch format {
	case "text":
		return p.Text(), true, nil
	case "json":
		text, err = p.JSON()
	case "html":
		return p.HTML(), true, nil
	case "fragment":
		return p.Fragment(), true, nil
	case "chrome":
		text, err = p.Chrome()
	default:
		return "", false, nil
	}
	return text, true, err
}

// busy is the time of all workers in steps.
func (p *Profile) busy() (sum time.Duration) {
	for _, s := range p.Steps {
		if s.Total != nil {
			sum += s.Total.Busy
		}
	}
	return sum
}
