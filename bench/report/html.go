package report

import (
	_ "embed" // the page's template, style and scripts
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

// Apache ECharts 5.6.0, from the npm package "echarts", under the Apache
// License 2.0: assets/echarts-LICENSE and assets/echarts-NOTICE.
//
//go:embed assets/echarts.common.min.js
var echartsScript string

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// Page is the content of a report page.
type Page struct {
	Title     string
	When      time.Time  // when the measurement was made
	Machine   Machine    // where it was made
	Bandwidth *Bandwidth // what the machine's memory can do; nil when not measured
	Answers   []Answer   // shown by their Grid; those without one are only in the page's data
	Records   []Record   // a table per suite, and the charts of [Charts]
	Curves    []Curves   // shown below those charts
	Notes     []string   // a paragraph each
}

// WriteHTML writes the page as one HTML file that holds its style, its scripts
// and its data, and loads nothing: a content security policy in it forbids the
// browser to fetch anything. It follows the reader's light or dark setting.
// The records and answers are in it as JSON, too, in the element with the id
// "data". Text from records is escaped.
func (p *Page) WriteHTML(w io.Writer) error {
	type chart struct {
		Title, Height string
		Option        template.JS
	}
	data := struct {
		*Page
		Style           template.CSS
		ECharts, Script template.JS
		Details         []Grid
		Tables          []Grid
		Charts          []chart
		Wrong           []string
		Data            template.JS
	}{
		Page: p, Style: template.CSS(pageCSS), ECharts: template.JS(echartsScript), Script: template.JS(pageScript),
		Details: p.details(), Tables: p.tables(),
	}
	var err error
	if data.Data, err = inScript(struct {
		Machine   Machine    `json:"machine"`
		Bandwidth *Bandwidth `json:"bandwidth,omitempty"`
		Records   []Record   `json:"records"`
		Answers   []Answer   `json:"answers,omitempty"`
	}{p.Machine, p.Bandwidth, p.Records, p.Answers}); err != nil {
		return err
	}
	for i := range p.Records {
		if err := p.Records[i].validate(); err != nil {
			return err
		}
		if p.Records[i].Wrong() {
			data.Wrong = append(data.Wrong, p.Records[i].Label())
		}
	}
	for _, c := range Charts(p.Records) {
		if err := c.check(); err != nil {
			return err
		}
		option, err := inScript(c.option())
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, chart{c.Title, c.height(), option})
	}
	for i := range p.Curves {
		c := &p.Curves[i]
		if err := c.check(); err != nil {
			return err
		}
		option, err := inScript(c.option())
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, chart{c.Title, fmt.Sprintf("%dpx", curvesHeight), option})
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, data); err != nil {
		return fmt.Errorf("report: page %q: %w", p.Title, err)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// inScript encodes v for a script element. encoding/json writes <, > and & as
// escapes, so that no text can end the element; html/template would do the
// same, but leave a value that cannot be encoded out of the page.
func inScript(v any) (template.JS, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("report: data of the page: %w", err)
	}
	return template.JS(b), nil
}

// details returns the description of the machine.
func (p *Page) details() []Grid {
	g := p.Machine.Grid()
	if b := p.Bandwidth; b != nil {
		how := fmt.Sprintf(", %d threads over %s", b.Threads, Bytes(b.BufferBytes))
		g.Add("memory, read", threeDigits(b.ReadGBs)+" GB/s"+how)
		g.Add("memory, copy", threeDigits(b.CopyGBs)+" GB/s"+how)
	}
	return []Grid{g}
}

// tables returns the answers and then the steps of each suite.
func (p *Page) tables() []Grid {
	var out []Grid
	for _, a := range p.Answers {
		if a.Grid != nil {
			out = append(out, *a.Grid)
		}
	}
	var suites []string
	of := map[string][]Record{}
	for _, r := range p.Records {
		if of[r.Suite] == nil {
			suites = append(suites, r.Suite)
		}
		of[r.Suite] = append(of[r.Suite], r)
	}
	for _, s := range suites {
		out = append(out, Steps("Steps of "+s, of[s]))
	}
	return out
}
