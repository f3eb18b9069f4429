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

// Theme is the colours of a picture, but for those of the bars, which stand out
// on every background.
type Theme struct{ Background, Text, Grid color.Color }

// Light is for a white page.
func Light() Theme { return Theme{color.White, color.Black, color.Gray{0xdd}} }

// Dark is for a dark page, such as GitHub's in its dark mode.
func Dark() Theme {
	return Theme{color.RGBA{0x0d, 0x11, 0x17, 0xff}, color.RGBA{0xe6, 0xed, 0xf3, 0xff}, color.RGBA{0x30, 0x36, 0x3d, 0xff}}
}

// WritePNG draws the chart on white and writes it to w as PNG. A chart without
// groups or series, with a series of another length than the groups, or with a
// value that its axis cannot show is an error, and nothing is written.
func (c *Chart) WritePNG(w io.Writer) error { return c.WriteThemedPNG(w, Light()) }

// WriteThemedPNG is WritePNG in the colours of a theme.
func (c *Chart) WriteThemedPNG(w io.Writer, theme Theme) error {
	if err := c.check(); err != nil {
		return err
	}
	width, height := c.Size()
	img := vgimg.NewWith(
		vgimg.UseWH(vg.Length(width)*point, vg.Length(height)*point),
		vgimg.UseDPI(vgimg.DefaultDPI),
		vgimg.UseBackgroundColor(theme.Background),
	)
	all := draw.New(img)
	margin := 16 * point
	all = draw.Crop(all, margin, -margin, margin, -margin)
	legendHeight := vg.Length(len(c.Series)*entryPixels) * point

	p, legend := c.plot(theme)
	legend.Draw(draw.Crop(all, 0, 0, 0, legendHeight-all.Size().Y))
	p.Draw(draw.Crop(all, 0, 0, legendHeight+12*point, 0))
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("report: chart %q: %w", c.Title, err)
	}
	return nil
}

// plot sets up gonum's axes and the legend.
func (c *Chart) plot(theme Theme) (*plot.Plot, plot.Legend) {
	p := plot.New()
	p.BackgroundColor = theme.Background
	p.Title.TextStyle.Color, p.X.Label.TextStyle.Color = theme.Text, theme.Text
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color, axis.Tick.Label.Color = theme.Text, theme.Text, theme.Text
	}
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
	p.Add(&bars{chart: c, theme: theme})
	p.X.Min, p.X.Max = c.axis()
	p.Y.Min, p.Y.Max = -0.5, float64(len(c.Groups))-0.5
	if c.Log {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = decades{print: c.print}
	}

	l := plot.NewLegend()
	l.Left, l.Top = true, true
	l.TextStyle.Font, l.TextStyle.Color = sans(17*point), theme.Text
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
