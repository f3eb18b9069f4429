package report

import (
	"fmt"
	"image/color"
)

// palette holds the colours of the bars. They stay apart for readers with the
// common colour blindnesses and stand out on white as well as on a dark page:
// Okabe and Ito, "Color Universal Design" (2008), black replaced by grey.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0xf0, 0xe4, 0x42, 0xff}, // yellow
	{0x8c, 0x8c, 0x8c, 0xff}, // grey
}

// hexColors returns the palette in the notation of the page.
func hexColors() []string {
	out := make([]string, len(palette))
	for i, c := range palette {
		out[i] = fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return out
}
