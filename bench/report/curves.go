package report

import (
	"fmt"
	"io"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// Curves is a chart of lines with points, both axes logarithmic.
type Curves struct {
	Name   string // a short name fit for a file
	Title  string // printed above
	X, Y   string // what the axes measure, with units
	Lines  []Line
	PrintX func(float64) string // prints a value of an axis; nil prints three digits
	PrintY func(float64) string
}

// Line is one line: its points by rising X, all above zero.
type Line struct {
	Name   string
	Points []XY
}

// XY is a point.
type XY struct{ X, Y float64 }

// check refuses what cannot be drawn.
func (c *Curves) check() error {
	if len(c.Lines) == 0 {
		return fmt.Errorf("report: chart %q has nothing to show", c.Title)
	}
	for _, l := range c.Lines {
		if len(l.Points) == 0 {
			return fmt.Errorf("report: chart %q: line %q has no points", c.Title, l.Name)
		}
		for _, p := range l.Points {
			if !(p.X > 0) || !(p.Y > 0) || math.IsInf(p.X, 0) || math.IsInf(p.Y, 0) {
				return fmt.Errorf("report: chart %q: (%v, %v) of %q cannot be drawn", c.Title, p.X, p.Y, l.Name)
			}
		}
	}
	return nil
}

// The height of the lines' part of the picture, in pixels.
const curvesHeight = 560

// WritePNG draws the chart on white and writes it to w as PNG. A chart without lines,
// or with a value that is not above zero, is an error, and nothing is written.
func (c *Curves) WritePNG(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	l, err := newLetters()
	if err != nil {
		return err
	}
	names := make([]string, len(c.Lines))
	for i, line := range c.Lines {
		names[i] = line.Name
	}
	entries, rows := legend(l, names, plotWidth)
	top, theme := float64(marginPixels+titlePixels+rows), Light()
	to := newCanvas(l, chartWidth, int(top)+curvesHeight+ticksPixels+namePixels+bottomPixels, theme.Background)
	to.text(theme.Text, l.fit(c.Title, titleSize, plotWidth), titleSize, marginPixels, marginPixels+titleSize/2, 0)
	for i, e := range entries {
		x, y := marginPixels+e.x, marginPixels+titlePixels+e.y
		strokes(to, i, []XY{{x, y}, {x + swatchWidth, y}}, []XY{{x + swatchWidth/2, y}})
		to.text(theme.Text, e.name, labelSize, x+swatchWidth+8, y, 0)
	}
	x, y := c.axes(to, theme, top, top+curvesHeight)
	for i, line := range c.Lines {
		at := make([]XY, len(line.Points))
		for k, p := range line.Points {
			at[k] = XY{x.at(p.X), y.at(p.Y)}
		}
		strokes(to, i, at, at)
	}
	return to.writePNG(w, c.Title)
}

// strokes draws the line of a number and its points. When the colours come again, the lines are dashed.
func strokes(to *canvas, number int, line, points []XY) {
	of := palette[number%len(palette)]
	for k := 1; k < len(line); k++ {
		to.line(of, line[k-1], line[k], 2, number >= len(palette))
	}
	for _, p := range points {
		to.disc(of, p, 4)
	}
}

// axes draws both axes with their grid and returns them.
func (c *Curves) axes(to *canvas, theme Theme, top, bottom float64) (x, y scale) {
	x, y = scale{lo: math.Inf(1), log: true, to: chartWidth - marginPixels - 16}, scale{lo: math.Inf(1), log: true, from: bottom, to: top}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			x.lo, x.hi = min(x.lo, p.X), max(x.hi, p.X)
			y.lo, y.hi = min(y.lo, p.Y), max(y.hi, p.Y)
		}
	}
	for _, s := range []*scale{&x, &y} {
		s.lo, s.hi = max(s.lo*0.9, math.SmallestNonzeroFloat64), min(s.hi*1.1, math.MaxFloat64)
	}
	marks := y.ticks(printer(c.PrintY))
	labels := make([]string, len(marks))
	for i, t := range marks {
		labels[i] = t.label
	}
	x.from = math.Round(marginPixels + namePixels + to.widest(labels, tickSize) + 2*gapPixels)
	for i, t := range marks {
		at, long := math.Round(y.at(t.value)), 4.0
		if t.label != "" {
			long = 7
			to.box(theme.Grid, x.from, at, x.to, at+1)
			to.text(theme.Text, labels[i], tickSize, x.from-gapPixels-3, at, 1)
		}
		to.box(theme.Text, x.from-long, at, x.from, at+1)
	}
	for _, t := range x.ticks(printer(c.PrintX)) {
		at, long := math.Round(x.at(t.value)), 4.0
		if t.label != "" {
			long = 7
			to.box(theme.Grid, at, top, at+1, bottom)
			to.text(theme.Text, t.label, tickSize, at, bottom+20, 0.5)
		}
		to.box(theme.Text, at, bottom, at+1, bottom+long)
	}
	to.box(theme.Text, x.from, bottom, x.to, bottom+1)
	to.box(theme.Text, x.from, top, x.from+1, bottom)
	to.text(theme.Text, to.fit(c.X, labelSize, x.to-x.from), labelSize, (x.from+x.to)/2, bottom+ticksPixels+namePixels/2, 0.5)
	to.upward(theme.Text, to.fit(c.Y, labelSize, bottom-top), labelSize, marginPixels+namePixels/2, (top+bottom)/2)
	return x, y
}

func printer(f func(float64) string) func(float64) string {
	if f == nil {
		return threeDigits
	}
	return f
}

// option is the chart as the echarts script draws it.
func (c *Curves) option() map[string]any {
	line := charts.NewLine()
	line.SetGlobalOptions(
		charts.WithAnimation(false),
		charts.WithColorsOpts(hexColors()),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Bottom: "0", Type: "scroll"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item"}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "80", Top: "28", Bottom: "72", ContainLabel: opts.Bool(true)}),
		charts.WithXAxisOpts(opts.XAxis{Type: "log", Name: c.X, NameLocation: "middle", NameGap: 28}),
		charts.WithYAxisOpts(opts.YAxis{Type: "log", Name: c.Y}),
	)
	for _, l := range c.Lines {
		data := make([]opts.LineData, len(l.Points))
		for i, p := range l.Points {
			data[i].Value = [2]float64{p.X, p.Y}
			data[i].Name = printer(c.PrintX)(p.X) + ": " + printer(c.PrintY)(p.Y)
		}
		line.AddSeries(l.Name, data)
	}
	line.Validate()
	return line.JSON()
}
