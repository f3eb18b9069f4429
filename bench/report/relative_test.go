package report

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const raced = `{"suite":"columnar","op":"sort","engine":"volley","min_s":0.2}
{"suite":"columnar","op":"sort","engine":"volley","min_s":0.1,"way":"again"}
{"suite":"columnar","op":"sort","engine":"polars","min_s":0.25}
{"suite":"columnar","answer":{"WY":133}}

{"suite":"columnar","op":"join","engine":"volley","min_s":2}
{"suite":"columnar","op":"join","engine":"polars","min_s":1,"ok":false}
{"suite":"columnar","op":"join","engine":"duckdb","min_s":5,"ok":true}
`

func TestRelative(t *testing.T) {
	records, err := ReadRecords(strings.NewReader(raced))
	require.NoError(t, err)
	require.Len(t, records, 6)
	c, err := Relative(records, "volley", []string{"duckdb", "volley", "polars"}, []string{"sort", "join"})
	require.NoError(t, err)
	require.Equal(t, []string{"sort", "join"}, c.Groups)
	require.Equal(t, []string{"volley", "duckdb", "polars"}, []string{c.Series[0].Name, c.Series[1].Name, c.Series[2].Name})
	require.Equal(t, []float64{1, 1}, c.Series[0].Values)
	require.True(t, math.IsNaN(c.Series[1].Values[0]))
	require.Equal(t, 2.5, c.Series[1].Values[1])
	require.Equal(t, 2.5, c.Series[2].Values[0])
	require.True(t, math.IsNaN(c.Series[2].Values[1]), "a wrong answer has a bar")
	require.Equal(t, "2.50 ×", c.Print(2.5))

	_, err = Relative(records, "volley", nil, []string{"sort", "topk"})
	require.ErrorContains(t, err, "no time of volley for topk")
	_, err = Relative(records, "volley", []string{"pandas"}, []string{"sort"})
	require.ErrorContains(t, err, "no time of pandas for any of sort")
	_, err = Relative(records, "volley", nil, nil)
	require.Error(t, err)
}

// The mean is over what all engines have, and says of how many that is.
func TestRelativeMean(t *testing.T) {
	records, err := ReadRecords(strings.NewReader(raced + `{"suite":"columnar","op":"topk","engine":"volley","min_s":1}
{"suite":"columnar","op":"topk","engine":"polars","min_s":10}`))
	require.NoError(t, err)
	c, err := Relative(records, "volley", []string{"polars"}, []string{MeanOp, "sort"})
	require.NoError(t, err)
	require.Equal(t, []string{"mean of 2", "sort"}, c.Groups)
	require.Equal(t, []float64{1, 1}, c.Series[0].Values)
	require.InDelta(t, 5, c.Series[1].Values[0], 1e-12)
	_, err = Relative(records, "volley", []string{"polars", "duckdb"}, []string{MeanOp})
	require.ErrorContains(t, err, "no time of volley for mean")
}

func TestReadRecordsNamesTheLine(t *testing.T) {
	_, err := ReadRecords(strings.NewReader("{\"suite\":\"a\",\"op\":\"b\"}\n{\n"))
	require.ErrorContains(t, err, "line 2")
	_, err = ReadRecords(strings.NewReader("{\"suite\":\"a\",\"op\":\"b\",\"min_s\":-1}\n"))
	require.ErrorContains(t, err, "line 1")
}

// TestThemes looks at the corner of both pictures, which is the background, and at how much of each is of the bars' colours.
func TestThemes(t *testing.T) {
	records, err := ReadRecords(strings.NewReader(raced))
	require.NoError(t, err)
	c, err := Relative(records, "volley", []string{"duckdb"}, []string{"sort", "join"})
	require.NoError(t, err)
	for _, theme := range []Theme{Light(), Dark()} {
		var out bytes.Buffer
		require.NoError(t, c.WriteThemedPNG(&out, theme))
		img, err := png.Decode(&out)
		require.NoError(t, err)
		r, g, b, _ := img.At(0, 0).RGBA()
		wr, wg, wb, _ := theme.Background.RGBA()
		require.Equal(t, []uint32{wr, wg, wb}, []uint32{r, g, b})
		text, bars := 0, 0
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				switch r, g, b, _ := img.At(x, y).RGBA(); {
				case r>>8 == 0 && g>>8 == 0x72 && b>>8 == 0xb2:
					bars++
				case sameColor(r, g, b, theme):
					text++
				}
			}
		}
		require.Greater(t, bars, 1000)
		require.Greater(t, text, 100, "letters in the theme's colour")
	}
}

func sameColor(r, g, b uint32, theme Theme) bool {
	wr, wg, wb, _ := theme.Text.RGBA()
	return r == wr && g == wg && b == wb
}
