package main

import (
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// readmeChart is the command of the chart in README.md, but for its files.
var readmeChart = []string{
	"bench", "chart", "../../bench/results/intel-260mib-l3-tpch-1/memory.jsonl",
	"--ops", "mean,q1,q6,q9,q14,q21", "--engines", "duckdb,polars", "--title", "TPC-H, scale 1, from memory: time of a query, shorter is better",
}

// TestReadmeChart draws the chart again and holds the committed pictures against it. Few pixels may differ: floats are not the same on every processor.
func TestReadmeChart(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "tpch")
	r := call(t, context.Background(), (&fakes{}).deps(), append(readmeChart, "--out", prefix)...)
	require.Zero(t, r.status, r.stderr)
	require.Equal(t, prefix+"-light.png\n"+prefix+"-dark.png\n", r.stdout)
	for _, theme := range []string{"-light.png", "-dark.png"} {
		have, want := picture(t, filepath.Join("..", "..", "docs", "pictures", "tpch"+theme)), picture(t, prefix+theme)
		require.Equal(t, want.Bounds(), have.Bounds())
		others, all := 0, want.Bounds().Dx()*want.Bounds().Dy()
		for y := range want.Bounds().Dy() {
			for x := range want.Bounds().Dx() {
				if want.At(x, y) != have.At(x, y) {
					others++
				}
			}
		}
		require.Less(t, others, all/200, "docs/pictures/tpch%s is not what the results give", theme)
	}
}

func picture(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}

func TestChartRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	require.NoError(t, os.WriteFile(empty, nil, 0o666))
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"bench", "chart", empty}, 2, "chart needs results"},
		{[]string{"bench", "chart", empty, "--ops", "sort", "--engines", "polars", "--out", "x"}, 1, "no time of volley for sort"},
		{[]string{"bench", "chart", empty + "no", "--ops", "sort", "--engines", "polars", "--out", "x"}, 1, "empty.jsonlno"},
	} {
		r := call(t, context.Background(), (&fakes{}).deps(), c.args...)
		require.Equal(t, c.status, r.status)
		require.Contains(t, r.stderr, c.says)
	}
}
