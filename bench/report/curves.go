package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
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

// The height of the picture without its legend, in pixels.
const curvesHeight = 640

// WritePNG draws the chart on white and writes it to w as PNG. A chart without lines,
// or with a value that is not above zero, is an error, and nothing is written.
func (c *Curves) WritePNG(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	legendHeight := vg.Length(len(c.Lines)*entryPixels) * point
	img := vgimg.NewWith(
		vgimg.UseWH(chartWidth*point, curvesHeight*point+legendHeight),
		vgimg.UseDPI(vgimg.DefaultDPI),
		vgimg.UseBackgroundColor(color.White),
	)
	margin := 16 * point
	all := draw.Crop(draw.New(img), margin, -margin, margin, -margin)
	p := plot.New()
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = c.Title, sans(22*point), 12*point
	legend := plot.NewLegend()
	legend.Left, legend.Top = true, true
	legend.TextStyle.Font, legend.ThumbnailWidth, legend.Padding = sans(17*point), 24*point, 5*point
	for _, a := range []struct {
		axis  *plot.Axis
		label string
		print func(float64) string
	}{{&p.X, c.X, printer(c.PrintX)}, {&p.Y, c.Y, printer(c.PrintY)}} {
		a.axis.Label.Text, a.axis.Label.TextStyle.Font = a.label, sans(17*point)
		a.axis.Tick.Label.Font = sans(15 * point)
		a.axis.Scale, a.axis.Tick.Marker = plot.LogScale{}, decades{print: a.print}
	}
	for i, l := range c.Lines {
		xys := make(plotter.XYs, len(l.Points))
		for k, at := range l.Points {
			xys[k] = plotter.XY{X: at.X, Y: at.Y}
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return fmt.Errorf("report: chart %q: %w", c.Title, err)
		}
		of := palette[i%len(palette)]
		line.Color, line.Width, points.Color, points.Shape, points.Radius = of, 2*point, of, draw.CircleGlyph{}, 4*point
		if i >= len(palette) {
			line.Dashes = []vg.Length{6 * point, 4 * point} // colours come again, lines do not
		}
		p.Add(line, points)
		legend.Add(l.Name, line, points)
	}
	p.X.Min, p.X.Max = p.X.Min*0.9, p.X.Max*1.1
	legend.Draw(draw.Crop(all, 0, 0, 0, legendHeight-all.Size().Y))
	p.Draw(draw.Crop(all, 0, 0, legendHeight+12*point, 0))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("report: chart %q: %w", c.Title, err)
	}
	return nil
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
