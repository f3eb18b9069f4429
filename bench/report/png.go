package report

import (
	"image/color"
	"io"
)

// The sizes of a picture, in pixels.
const (
	chartWidth   = 1280
	marginPixels = 24
	titlePixels  = 40 // the title and the space to what follows
	barPixels    = 22 // one bar with the line between it and the next
	groupPixels  = 22 // space between two groups
	ticksPixels  = 32 // below the axis: the marks and their labels
	namePixels   = 28 // the name of the axis
	bottomPixels = 14 // below the name of the axis
	plotWidth    = chartWidth - 2*marginPixels
)

// Size returns the width and height in pixels of the picture that WritePNG
// draws. The height grows with the number of bars and the rows of the legend,
// so that bars and letters keep their size.
func (c *Chart) Size() (width, height int) {
	l, err := newLetters()
	if err != nil {
		l = nil // WritePNG returns the error
	}
	return chartWidth, c.pixels(l)
}

func (c *Chart) pixels(l letters) int {
	_, rows := legend(l, c.names(), plotWidth)
	return marginPixels + titlePixels + rows + c.barsHeight() + ticksPixels + namePixels + bottomPixels
}

// barsHeight is that of the part with the bars.
func (c *Chart) barsHeight() int { return len(c.Groups) * (len(c.Series)*barPixels + groupPixels) }

func (c *Chart) names() []string {
	out := make([]string, len(c.Series))
	for i, s := range c.Series {
		out[i] = s.Name
	}
	return out
}

// Theme is the colours of a picture, but for those of the bars, which stand out
// on every background.
type Theme struct{ Background, Text, Grid color.Color }

// Light is for a white page.
func Light() Theme { return Theme{color.White, color.RGBA{0x1f, 0x23, 0x28, 0xff}, color.Gray{0xdd}} }

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
	l, err := newLetters()
	if err != nil {
		return err
	}
	to := newCanvas(l, chartWidth, c.pixels(l), theme.Background)
	to.text(theme.Text, l.fit(c.Title, titleSize, plotWidth), titleSize, marginPixels, marginPixels+titleSize/2, 0)
	entries, rows := legend(l, c.names(), plotWidth)
	for i, e := range entries {
		x, y := marginPixels+e.x, marginPixels+titlePixels+e.y
		to.box(palette[i%len(palette)], x, y-8, x+swatchWidth, y+8)
		to.text(theme.Text, e.name, labelSize, x+swatchWidth+8, y, 0)
	}
	c.draw(to, theme, float64(marginPixels+titlePixels+rows))
	return to.writePNG(w, c.Title)
}
