package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		of   scale
		want []string
	}{
		{scale{lo: 0, hi: 17.9}, []string{"0", "2", "4", "6", "8", "10", "12", "14", "16"}},
		{scale{lo: 0, hi: 100}, []string{"0", "20", "40", "60", "80", "100"}},
		{scale{lo: 0, hi: 0.012}, []string{"0", "0.002", "0.004", "0.006", "0.008", "0.01", "0.012"}},
		{scale{lo: 0.001, hi: 2, log: true}, []string{"0.001", "0.01", "0.1", "1"}},
		{scale{lo: 1.8, hi: 9, log: true}, []string{"2", "5"}},
		{scale{lo: 1, hi: 1e20, log: true}, []string{"1", "1000", "1e+06", "1e+09", "1e+12", "1e+15", "1e+18"}},
	} {
		var have []string
		for _, mark := range c.of.ticks(func(v float64) string { return fmt.Sprintf("%.4g", v) }) {
			if mark.label != "" {
				have = append(have, mark.label)
			}
		}
		require.Equal(t, c.want, have, "%+v", c.of)
	}
}

// Values at the ends of what floats hold are drawn, and drawing ends.
func TestExtremeValuesAreDrawn(t *testing.T) {
	ends := []float64{math.SmallestNonzeroFloat64, 1, math.MaxFloat64}
	for _, log := range []bool{false, true} {
		c := Chart{Groups: []string{"a", "b", "c"}, Series: []Series{{Name: "s", Values: ends}}, Log: log}
		require.NoError(t, c.WritePNG(&bytes.Buffer{}))
	}
	c := Curves{}
	for i := range len(palette) + 1 { // the last one is dashed
		c.Lines = append(c.Lines, Line{fmt.Sprint(i), []XY{{ends[0], ends[2]}, {ends[1], ends[1]}, {ends[2], ends[0]}}})
	}
	require.NoError(t, c.WritePNG(&bytes.Buffer{}))
}

// No name runs out of the picture, and no value either: the last columns keep the colour of the page.
func TestLettersStayInThePicture(t *testing.T) {
	l, err := newLetters()
	require.NoError(t, err)
	long := string(slices.Repeat([]rune("wide name "), 40))
	c := Chart{Title: long, Axis: long, Groups: []string{long, "b"}, Whole: 100,
		Series: []Series{{Name: long, Values: []float64{100, 99}}, {Name: "t", Values: []float64{1, math.NaN()}}},
		Print:  func(v float64) string { return fmt.Sprintf("%v per cent of all", v) }}
	to := newCanvas(l, chartWidth, c.pixels(l), color.White)
	c.draw(to, Light(), 100)
	for y := range to.img.Bounds().Dy() {
		for _, x := range []int{0, 10, chartWidth - 10, chartWidth - 1} {
			require.Equal(t, color.RGBA{0xff, 0xff, 0xff, 0xff}, to.img.RGBAAt(x, y), "%d, %d", x, y)
		}
	}
	entries, height := legend(l, []string{long, "a", "b", long}, plotWidth)
	require.Equal(t, 3*entryPixels+10, height)
	require.Equal(t, entries[1].y, entries[2].y)
	for _, e := range entries {
		require.LessOrEqual(t, e.x+swatchWidth+8+l.width(e.name, labelSize), float64(plotWidth))
	}
}
