package tpch

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/flow/profile"
)

// A profiled query gives the same answer, and its measures add up: rows that a step gives are those
// that the next takes, and the time of all steps of a worker is the time that it was there.
func TestProfilesAddUp(t *testing.T) {
	b := testBackend(t)
	ctx := context.Background()
	loaded, release, err := Load(ctx, b, small)
	require.NoError(t, err)
	defer release()
	for _, rows := range []string{"", "100"} {
		t.Setenv("VOLLEY_MORSEL_ROWS", rows)
		for _, q := range Queries {
			want, err := ReadAnswer(filepath.Join(small, "answers", q.Name+".csv"))
			require.NoError(t, err)
			for from, d := range map[string]Data{"memory": loaded, "files": Scan(b, small)} {
				got, p, err := q.Plan(d).Profile(ctx)
				require.NoError(t, err, "%s from %s", q.Name, from)
				answer, err := AnswerOf(got)
				n := got.NumRows()
				got.Release()
				require.NoError(t, err)
				require.Empty(t, answer.Differs(want), "%s from %s", q.Name, from)
				require.Equal(t, n, p.Rows, "%s from %s", q.Name, from)
				checkProfile(t, q.Name+" from "+from, p)
			}
		}
	}
}

func checkProfile(t *testing.T, name string, p *profile.Profile) {
	t.Helper()
	for _, pipe := range p.Pipelines {
		before := p.Steps[pipe.Source].Total
		for _, id := range pipe.Steps {
			s := p.Steps[id].Total
			require.Equal(t, before.RowsOut, s.RowsIn, "%s: %s", name, p.Steps[id].Text)
			before = s
		}
		out := p.Steps[pipe.Output].Total
		require.Equal(t, before.RowsOut, out.RowsIn, "%s: pipeline %d", name, pipe.ID)
		require.Equal(t, out.RowsIn, out.RowsOut+pipe.Discarded, "%s: pipeline %d", name, pipe.ID)
	}
	for _, s := range p.Steps {
		var rows int64
		for _, m := range s.Workers {
			rows += m.RowsOut
		}
		require.Equal(t, s.Total.RowsOut, rows, "%s: %s", name, s.Text)
	}
	times := make([]time.Duration, len(p.Workers))
	for _, s := range p.Steps {
		for _, m := range s.Workers {
			times[m.Worker] += m.Busy + m.Wait
		}
	}
	for i, w := range p.Workers {
		require.InDelta(t, w.End-w.Start, times[i], 2, "%s: %s", name, w.Name)
	}
	require.NotZero(t, p.Elapsed)
	for _, format := range profile.Formats {
		text, ok, err := p.Render(format)
		require.NoError(t, err)
		require.True(t, ok)
		require.NotEmpty(t, text)
		if format == "json" || format == "chrome" {
			require.True(t, json.Valid([]byte(text)), "%s: %s", name, format)
		}
	}
}
