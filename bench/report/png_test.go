package report

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestPNG(t *testing.T) {
	for _, c := range Charts(sample()) {
		var b bytes.Buffer
		if err := c.WritePNG(&b); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("VOLLEY_TEST_KEEP"); dir != "" { // for a look by eye
			if err := os.WriteFile(filepath.Join(dir, c.Name+".png"), b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		width, height := c.Size()
		if got := img.Bounds().Size(); got.X != width || got.Y != height {
			t.Errorf("%s: %v, want %dx%d", c.Name, got, width, height)
		}
		// Each series must have left its colour on the picture.
		seen := map[[3]uint32]int{}
		for y := range height {
			for x := range width {
				r, g, b, _ := img.At(x, y).RGBA()
				seen[[3]uint32{r >> 8, g >> 8, b >> 8}]++
			}
		}
		for i, s := range c.Series {
			p := palette[i]
			if n := seen[[3]uint32{uint32(p.R), uint32(p.G), uint32(p.B)}]; n < 500 {
				t.Errorf("%s: %d pixels in the colour of %q", c.Name, n, s.Name)
			}
		}
	}
}

func TestPNGRefuses(t *testing.T) {
	for name, c := range map[string]Chart{
		"nothing":        {},
		"length":         {Groups: []string{"a", "b"}, Series: []Series{{Name: "s", Values: []float64{1}}}},
		"infinite":       {Groups: []string{"a"}, Series: []Series{{Name: "s", Values: []float64{math.Inf(1)}}}},
		"negative":       {Groups: []string{"a"}, Series: []Series{{Name: "s", Values: []float64{-1}}}},
		"zero on a log":  {Groups: []string{"a"}, Series: []Series{{Name: "s", Values: []float64{0}}}, Log: true},
		"no series only": {Groups: []string{"a"}},
	} {
		var b bytes.Buffer
		if err := c.WritePNG(&b); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes", name, err, b.Len())
		}
	}
}
