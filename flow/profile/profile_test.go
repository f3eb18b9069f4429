package profile

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// measured is a run of two workers.
func measured(t *testing.T) *Profile {
	t.Helper()
	p := &Profile{Device: "cpu"}
	rows := 3.0
	p.Plans = []*Plan{{Name: "result", Step: 2, Root: &Node{Text: "filter v > '<b>'", Rows: &rows, Steps: []int{2}}}}
	p.Steps = []*Step{
		{ID: 0, Kind: KindResult, Text: "result", Inputs: []int{3}}, {ID: 1, Kind: "table", Text: "table"},
		{ID: 2, Kind: "filter", Text: "filter v > '<b>'", Inputs: []int{1}}, {ID: 3, Kind: KindOutput, Text: "in order", Inputs: []int{2}},
	}
	p.Pipelines = []*Pipeline{{ID: 1, Source: 1, Steps: []int{2}, Output: 3, Workers: 2}}
	for _, s := range p.Steps[2:] {
		s.Pipeline = &p.Pipelines[0].ID
	}
	r := NewRecorder()
	main := r.Track("caller", 0)
	for range 2 {
		w := r.Track("pipeline 1", 3)
		before := w.Wait(1)
		w.Enter(2)
		w.In(2, 10, 80)
		w.Out(2, 1234567, 1<<20)
		time.Sleep(time.Millisecond)
		w.Back(before)
		w.End()
		w.End()
	}
	r.Discard(3, 7)
	r.Finish(p)
	main.End()
	return p
}

func TestMeasuresAddUp(t *testing.T) {
	p := measured(t)
	require.Equal(t, int64(2*1234567), p.Steps[2].Total.RowsOut)
	require.Equal(t, int64(20), p.Steps[2].Total.RowsIn)
	require.Equal(t, int64(7), p.Pipelines[0].Discarded)
	require.Len(t, p.Steps[2].Workers, 2)
	require.Equal(t, []string{"caller", "pipeline 1 worker 1", "pipeline 1 worker 2"}, []string{p.Workers[0].Name, p.Workers[1].Name, p.Workers[2].Name})
	for i, w := range p.Workers {
		busy, wait := p.workerTimes(i)
		require.InDelta(t, w.End-w.Start, busy+wait, 2)
	}
	require.GreaterOrEqual(t, p.Steps[2].Total.Busy, 2*time.Millisecond)
}

func TestFormats(t *testing.T) {
	p := measured(t)
	text := p.Text()
	require.Contains(t, text, "2,469,134")
	require.Contains(t, text, "7 rows discarded")
	require.Contains(t, text, "pipeline 1 worker 2")
	page := p.HTML()
	require.Contains(t, page, "&lt;b&gt;")
	require.NotContains(t, page, "<b>")
	for _, asset := range []string{"http:", "https:", "src=", "href=", "@import", "url("} {
		require.NotContains(t, page, asset, "a page loads nothing")
	}
	require.Contains(t, page, "<rect")
	var back Profile
	made, err := p.JSON()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(made), &back))
	require.Equal(t, p.Steps, back.Steps)
	require.Contains(t, made, "'<b>'")
	var trace struct {
		TraceEvents []traceEvent `json:"traceEvents"`
	}
	made, err = p.Chrome()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(made), &trace))
	var busy, wait, named int
	for _, e := range trace.TraceEvents {
		switch {
		case e.Phase == "M":
			named++
		case e.Category == "wait":
			wait++
			require.True(t, strings.HasPrefix(e.Name, "waiting: "))
		default:
			busy++
		}
	}
	require.Equal(t, 3, named)
	require.NotZero(t, busy*wait)
	_, ok, err := p.Render("pdf")
	require.NoError(t, err)
	require.False(t, ok)
}

// The methods of no track do nothing, and timelines have an end.
func TestTracks(t *testing.T) {
	var none *Track
	none.Back(none.Enter(none.Wait(1).step))
	none.In(1, 1, 1)
	none.Out(1, 1, 1)
	none.End()
	require.Nil(t, Of(context.Background()))
	r := NewRecorder()
	track := r.Track("caller", 0)
	require.Same(t, track, Of(With(context.Background(), track)))
	for i := range 3 * mostEvents {
		track.Enter(i % 2)
	}
	p := &Profile{Steps: []*Step{{}, {}}}
	r.Finish(p)
	require.LessOrEqual(t, len(p.events), mostEvents)
	require.NotZero(t, p.dropped)
	require.Equal(t, int64(p.Workers[0].End-p.Workers[0].Start), int64(p.busy()))
}
