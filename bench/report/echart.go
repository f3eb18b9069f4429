package report

import (
	"fmt"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// option turns the chart into what the echarts script draws, as a value for
// encoding/json. go-echarts' own renderer is not used: its page takes the
// script from a server.
func (c *Chart) option() map[string]any {
	bar := charts.NewBar().XYReversal().SetXAxis(c.Groups)
	lo, hi := c.axis()
	kind := "value"
	if c.Log {
		kind = "log"
	}
	values := opts.XAxis{
		Type: kind, Name: c.Axis, NameLocation: "middle", NameGap: 28, Min: lo,
		AxisLabel: &opts.AxisLabel{HideOverlap: opts.Bool(true)},
	}
	if c.Whole > 0 && hi == c.Whole {
		values.Max = hi // else the script ends the axis at a round number beyond the longest bar
	}
	bar.SetGlobalOptions(
		charts.WithAnimation(false),
		charts.WithColorsOpts(hexColors()),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Bottom: "0", Type: "scroll"}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item"}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "80", Top: "8", Bottom: "72", ContainLabel: opts.Bool(true)}),
		charts.WithYAxisOpts(opts.YAxis{Type: "category", Inverse: opts.Bool(true)}),
	)
	for _, s := range c.Series {
		data := make([]opts.BarData, len(s.Values))
		for g, v := range s.Values {
			if math.IsNaN(v) {
				data[g].Value = "-" // echarts' word for no value
				continue
			}
			data[g].Value = v
			data[g].Label = &opts.Label{Show: opts.Bool(true), Position: "right", Formatter: c.print(v)}
		}
		bar.AddSeries(s.Name, data)
	}
	bar.Validate()
	option := bar.JSON()
	// go-echarts has no field for startValue, without which echarts draws the
	// bars of a logarithmic axis from 1 and not from the axis' lower end.
	option["xAxis"] = struct {
		opts.XAxis
		StartValue float64 `json:"startValue"`
	}{values, lo}
	return option
}

// height returns the height of the chart on the page as a length of CSS.
func (c *Chart) height() string {
	return fmt.Sprintf("%dpx", 100+len(c.Groups)*(len(c.Series)*18+16))
}
