package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The sizes of a chart, in pixels. The picture has vgimg.DefaultDPI (96) dots
// an inch, so a pixel is 0.75 of gonum's points.
const (
	chartWidth  = 1280
	barPixels   = 22 // one bar with the line between it and the next
	groupPixels = 22 // space between two groups
	entryPixels = 26 // one line of the legend
	framePixels = 150
	point       = vg.Inch / vgimg.DefaultDPI // one pixel
)

// Size returns the width and height in pixels of the picture that WritePNG
// draws. The height grows with the number of bars, so that bars and letters
// keep their size.
func (c *Chart) Size() (width, height int) {
	bars := len(c.Groups) * (len(c.Series)*barPixels + groupPixels)
	return chartWidth, framePixels + bars + len(c.Series)*entryPixels
}

// WritePNG draws the chart on white and writes it to w as PNG. A chart without
// groups or series, with a series of another length than the groups, or with a
// value that its axis cannot show is an error, and nothing is written.
func (c *Chart) WritePNG(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	width, height := c.Size()
	img := vgimg.NewWith(
		vgimg.UseWH(vg.Length(width)*point, vg.Length(height)*point),
		vgimg.UseDPI(vgimg.DefaultDPI),
		vgimg.UseBackgroundColor(color.White),
	)
	all := draw.New(img)
	margin := 16 * point
	all = draw.Crop(all, margin, -margin, margin, -margin)
	legendHeight := vg.Length(len(c.Series)*entryPixels) * point

	p, legend := c.plot()
	legend.Draw(draw.Crop(all, 0, 0, 0, legendHeight-all.Size().Y))
	p.Draw(draw.Crop(all, 0, 0, legendHeight+12*point, 0))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("report: chart %q: %w", c.Title, err)
	}
	return nil
}

// plot sets up gonum's axes and the legend.
func (c *Chart) plot() (*plot.Plot, plot.Legend) {
	p := plot.New()
	p.Title.Text = c.Title
	p.Title.TextStyle.Font = sans(22 * point)
	p.Title.Padding = 12 * point
	p.X.Label.Text = c.Axis
	p.X.Label.TextStyle.Font = sans(17 * point)
	p.X.Label.Padding = 6 * point
	p.X.Tick.Label.Font = sans(15 * point)
	p.NominalY(reversed(c.Groups)...) // after which the Y axis has no line
	p.Y.Tick.Label.Font = sans(17 * point)
	p.Y.Padding = 0
	p.X.Padding = 0
	p.Add(&bars{chart: c})
	p.X.Min, p.X.Max = c.axis()
	p.Y.Min, p.Y.Max = -0.5, float64(len(c.Groups))-0.5
	if c.Log {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = decades{print: c.print}
	}

	l := plot.NewLegend()
	l.Left, l.Top = true, true
	l.TextStyle.Font = sans(17 * point)
	l.ThumbnailWidth = 24 * point
	l.Padding = 5 * point
	for i, s := range c.Series {
		l.Add(s.Name, swatch{palette[i%len(palette)]})
	}
	return p, l
}

// sans is Liberation Sans, which gonum/plot carries with it.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func reversed(s []string) []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[len(s)-1-i] = v
	}
	return out
}

// decades marks the powers of ten; gonum's LogTicks also label them, as bare
// numbers that are hard to read below a thousandth.
type decades struct{ print func(float64) string }

func (d decades) Ticks(lo, hi float64) []plot.Tick {
	var t []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		v := math.Pow(10, e)
		t = append(t, plot.Tick{Value: v, Label: d.print(v)})
		for k := 2.0; k < 10; k++ {
			t = append(t, plot.Tick{Value: k * v})
		}
	}
	return t
}
