package report

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"strings"
	"testing"
)

func someCurves() Curves {
	return Curves{Name: "x", Title: "Time against ranks", X: "ranks", Y: "seconds", PrintY: Seconds, Lines: []Line{
		{"ring", []XY{{2, 1e-6}, {16, 1e-5}, {1024, 1e-3}}}, {"tree", []XY{{2, 2e-6}, {1024, 4e-6}}},
	}}
}

// The picture and the page show the lines; nothing is drawn that a logarithmic axis
// cannot show.
func TestCurves(t *testing.T) {
	c := someCurves()
	var b bytes.Buffer
	if err := c.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	for i, l := range c.Lines {
		if of := palette[i]; !seen[[3]uint32{uint32(of.R), uint32(of.G), uint32(of.B)}] {
			t.Errorf("the colour of %s is not in the picture", l.Name)
		}
	}
	b.Reset()
	p := Page{Title: "curves", Curves: []Curves{c}}
	if err := p.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Time against ranks", `"ring"`, `"log"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if _, err := json.Marshal(c.option()); err != nil {
		t.Error(err)
	}
	for what, bad := range map[string]Curves{
		"nothing":   {},
		"no points": {Lines: []Line{{Name: "x"}}},
		"zero":      {Lines: []Line{{"x", []XY{{1, 0}}}}},
		"NaN":       {Lines: []Line{{"x", []XY{{math.NaN(), 1}}}}},
		"infinite":  {Lines: []Line{{"x", []XY{{1, math.Inf(1)}}}}},
	} {
		b.Reset()
		if err := bad.WritePNG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", what, err, b.Len())
		}
		if err := (&Page{Curves: []Curves{bad}}).WriteHTML(&b); err == nil {
			t.Errorf("%s is on a page", what)
		}
	}
}
