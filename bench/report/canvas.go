package report

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The sizes of letters, in pixels.
const (
	titleSize = 22
	labelSize = 17
	tickSize  = 15
)

// sans is the font Go, whose outlines golang.org/x/image carries.
var sans = sync.OnceValues(func() (*sfnt.Font, error) { return opentype.Parse(goregular.TTF) })

// letters draws and measures text. It is for one goroutine, as its faces are.
type letters map[int]font.Face

func newLetters() (letters, error) {
	of, err := sans()
	if err != nil {
		return nil, fmt.Errorf("report: the font of charts: %w", err)
	}
	l := letters{}
	for _, size := range []int{titleSize, labelSize, tickSize} {
		// At 72 dots an inch a point is a pixel.
		if l[size], err = opentype.NewFace(of, &opentype.FaceOptions{Size: float64(size), DPI: 72}); err != nil {
			return nil, fmt.Errorf("report: the font of charts: %w", err)
		}
	}
	return l, nil
}

// width is that of a text, in pixels.
func (l letters) width(s string, size int) float64 {
	return float64(font.MeasureString(l[size], s)) / 64
}

// widest is the width of the widest text.
func (l letters) widest(texts []string, size int) float64 {
	most := 0.0
	for _, s := range texts {
		most = max(most, l.width(s, size))
	}
	return most
}

// fit cuts a text that is wider than there is room, and ends it with an ellipsis.
func (l letters) fit(s string, size int, room float64) string {
	if l.width(s, size) <= room {
		return s
	}
	cut := []rune(s)
	for len(cut) > 0 && l.width(string(cut)+"…", size) > room {
		cut = cut[:len(cut)-1]
	}
	return string(cut) + "…"
}

// canvas is a picture with what charts are made of. Its units are pixels from the upper left corner.
type canvas struct {
	letters
	img *image.RGBA
}

func newCanvas(l letters, width, height int, background color.Color) *canvas {
	c := &canvas{l, image.NewRGBA(image.Rect(0, 0, width, height))}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return c
}

// writePNG writes the picture in one piece.
func (c *canvas) writePNG(w io.Writer, title string) error {
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, c.img); err != nil {
		return fmt.Errorf("report: chart %q: %w", title, err)
	}
	return nil
}

// box fills a rectangle with edges at whole pixels, which stay sharp.
func (c *canvas) box(of color.Color, x0, y0, x1, y1 float64) {
	at := func(v float64) int { return int(math.Round(v)) }
	draw.Draw(c.img, image.Rect(at(x0), at(y0), at(x1), at(y1)), image.NewUniform(of), image.Point{}, draw.Over)
}

// text writes a text whose capitals are centred on y. Of its width the share before lies left of x: 0 for a text that starts there, 1 for one
// that ends there.
func (c *canvas) text(of color.Color, s string, size int, x, y, before float64) {
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(of), Face: c.letters[size], Dot: c.dot(s, size, x, y, before)}
	d.DrawString(s)
}

// capitals is the height of capitals in the font, as a share of its size.
const capitals = 0.72

func (c *canvas) dot(s string, size int, x, y, before float64) fixed.Point26_6 {
	baseline := math.Round(y + capitals/2*float64(size))
	return fixed.Point26_6{X: fixed.Int26_6((x - before*c.width(s, size)) * 64), Y: fixed.Int26_6(baseline * 64)}
}

// upward writes a text from bottom to top, centred on x and y.
func (c *canvas) upward(of color.Color, s string, size int, x, y float64) {
	w, h := int(math.Ceil(c.width(s, size))), 2*size
	flat := canvas{c.letters, image.NewRGBA(image.Rect(0, 0, w, h))}
	flat.text(color.Opaque, s, size, 0, float64(size), 0)
	turned := image.NewAlpha(image.Rect(0, 0, h, w))
	for i := range w {
		for k := range h {
			turned.SetAlpha(k, w-1-i, color.Alpha{A: flat.img.RGBAAt(i, k).A})
		}
	}
	corner := image.Pt(int(x)-h/2, int(y)-w/2)
	draw.DrawMask(c.img, turned.Bounds().Add(corner), image.NewUniform(of), image.Point{}, turned, image.Point{}, draw.Over)
}

// polygon fills the inside of a closed line.
func (c *canvas) polygon(of color.Color, points ...XY) {
	lo, hi := points[0], points[0]
	for _, p := range points {
		lo, hi = XY{min(lo.X, p.X), min(lo.Y, p.Y)}, XY{max(hi.X, p.X), max(hi.Y, p.Y)}
	}
	b := image.Rect(int(lo.X)-1, int(lo.Y)-1, int(hi.X)+2, int(hi.Y)+2) // the rasteriser takes time by its area
	r := vector.NewRasterizer(b.Dx(), b.Dy())
	for i, p := range points {
		if i == 0 {
			r.MoveTo(float32(p.X-float64(b.Min.X)), float32(p.Y-float64(b.Min.Y)))
		} else {
			r.LineTo(float32(p.X-float64(b.Min.X)), float32(p.Y-float64(b.Min.Y)))
		}
	}
	r.ClosePath()
	r.Draw(c.img, b, image.NewUniform(of), image.Point{})
}

// disc fills a circle.
func (c *canvas) disc(of color.Color, at XY, radius float64) {
	const corners = 48 // more than a pixel shows
	points := make([]XY, corners)
	for i := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		points[i] = XY{at.X + radius*cos, at.Y + radius*sin}
	}
	c.polygon(of, points...)
}

// line draws from a to b, dashed if asked.
func (c *canvas) line(of color.Color, a, b XY, width float64, dashed bool) {
	long := math.Hypot(b.X-a.X, b.Y-a.Y)
	if long == 0 {
		return
	}
	dash, step := long, long
	if dashed {
		dash, step = 6, 10
	}
	ux, uy := (b.X-a.X)/long, (b.Y-a.Y)/long
	sx, sy := -uy*width/2, ux*width/2
	for from := 0.0; from < long; from += step {
		to := min(from+dash, long)
		p, q := XY{a.X + ux*from, a.Y + uy*from}, XY{a.X + ux*to, a.Y + uy*to}
		c.polygon(of, XY{p.X + sx, p.Y + sy}, XY{q.X + sx, q.Y + sy}, XY{q.X - sx, q.Y - sy}, XY{p.X - sx, p.Y - sy})
	}
}
