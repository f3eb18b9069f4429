package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars draws the bars of a chart. gonum's own BarChart starts every bar at
// zero, which a logarithmic axis does not have, and prints no values.
type bars struct {
	chart *Chart
	theme Theme
}

// DataRange implements plot.DataRanger.
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax = b.chart.axis()
	return xmin, xmax, -0.5, float64(len(b.chart.Groups)) - 0.5
}

// Plot implements plot.Plotter. The first group is at the top, and in it the
// first series.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	n := len(b.chart.Series)
	grid(c, p, b.theme.Grid)
	inGroup := float64(n*barPixels) / float64(n*barPixels+groupPixels)
	style := text.Style{
		Color: b.theme.Text, Font: sans(15 * point), YAlign: text.YCenter, Handler: p.TextHandler,
	}
	for g := range b.chart.Groups {
		top := float64(len(b.chart.Groups)-1-g) + inGroup/2
		for s, series := range b.chart.Series {
			v := series.Values[g]
			if math.IsNaN(v) {
				continue
			}
			hi, lo := y(top-float64(s)*inGroup/float64(n)), y(top-float64(s+1)*inGroup/float64(n))
			rectangle(c, palette[s%len(palette)], x(p.X.Min), x(v), lo+point, hi-point)
			c.FillText(style, vg.Point{X: x(v) + 6*point, Y: (lo + hi) / 2}, b.chart.print(v))
		}
	}
}

// grid draws a light line at each labelled tick, behind the bars.
func grid(c draw.Canvas, p *plot.Plot, light color.Color) {
	x, _ := p.Transforms(&c)
	line := draw.LineStyle{Color: light, Width: point}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() && t.Value >= p.X.Min && t.Value <= p.X.Max {
			c.StrokeLine2(line, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
}

// swatch is the coloured box of a legend entry.
type swatch struct{ color color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	rectangle(*c, s.color, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y)
}

func rectangle(c draw.Canvas, fill color.Color, x0, x1, y0, y1 vg.Length) {
	c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
