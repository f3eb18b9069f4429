package report

import "math"

const gapPixels = 8 // between a bar or an axis and its letters

// draw draws the bars, from top down, and their axis. The first group is at the
// top, and in it the first series.
func (c *Chart) draw(to *canvas, theme Theme, top float64) {
	bottom := top + float64(c.barsHeight())
	x := c.scale(to.letters)
	for _, t := range x.ticks(c.print) {
		at, long := math.Round(x.at(t.value)), 4.0
		if t.label != "" {
			long = 7
			to.box(theme.Grid, at, top, at+1, bottom)
			to.text(theme.Text, t.label, tickSize, at, bottom+20, 0.5)
		}
		to.box(theme.Text, at, bottom, at+1, bottom+long)
	}
	n := float64(len(c.Series))
	for g, name := range c.Groups {
		first := top + float64(g)*(n*barPixels+groupPixels) + groupPixels/2
		to.text(theme.Text, to.fit(name, labelSize, mostName), labelSize, x.from-gapPixels, first+n*barPixels/2, 1)
		for s, series := range c.Series {
			v, y := series.Values[g], first+float64(s)*barPixels
			if math.IsNaN(v) {
				continue
			}
			to.box(palette[s%len(palette)], x.from, y+1, x.at(v), y+barPixels-1)
			value, at := c.print(v), x.at(v)+gapPixels
			to.box(theme.Background, at-3, y+1, at+to.width(value, tickSize)+3, y+barPixels-1) // no line of the grid runs through it
			to.text(theme.Text, value, tickSize, at, y+barPixels/2, 0)
		}
	}
	to.box(theme.Text, x.from, bottom, x.to, bottom+1)
	middle := (x.from + x.to) / 2
	room := 2 * min(middle-marginPixels, chartWidth-marginPixels-middle)
	to.text(theme.Text, to.fit(c.Axis, labelSize, room), labelSize, middle, bottom+ticksPixels+namePixels/2, 0.5)
}

// mostName is the room for the names of groups.
const mostName = plotWidth * 2 / 5

// scale is the axis of values. It leaves room for the names of groups on its
// left, and ends so early that the printed value of no bar leaves the picture.
func (c *Chart) scale(l letters) scale {
	lo, hi := c.axis()
	from := marginPixels + min(mostName, l.widest(c.Groups, labelSize)) + gapPixels
	x := scale{lo: lo, hi: hi, from: math.Round(from), to: chartWidth - marginPixels, log: c.Log}
	for _, s := range c.Series {
		for _, v := range s.Values {
			if share := x.share(v); share > 0 { // false for NaN
				room := chartWidth - marginPixels - gapPixels - l.width(c.print(v), tickSize) - x.from
				x.to = min(x.to, x.from+max(room, 100)/share)
			}
		}
	}
	return x
}
