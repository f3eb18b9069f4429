package profile

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// slots is how many parts the timeline of a worker has.
const slots = 480

const style = `.volley-profile{font:13px/1.4 system-ui,sans-serif;color:#1b1f24;background:#fff;padding:1em;overflow-x:auto}
.volley-profile table{border-collapse:collapse;margin:.6em 0}
.volley-profile th,.volley-profile td{padding:2px 8px;text-align:right;white-space:nowrap;border-bottom:1px solid #e4e7eb}
.volley-profile th{font-weight:600;color:#59636e}
.volley-profile td.step,.volley-profile th.step{text-align:left;font-family:ui-monospace,monospace;white-space:pre}
.volley-profile .bar{display:inline-block;height:9px;background:#3b7dd8;vertical-align:middle}
.volley-profile .key{display:inline-block;width:10px;height:10px;margin-right:6px;vertical-align:middle}
.volley-profile svg text{font:11px system-ui,sans-serif;fill:#59636e}
`

// Fragment is the profile as a part of a page of HTML, for notebooks.
func (p *Profile) Fragment() string {
	var b strings.Builder
	b.WriteString("<div class=\"volley-profile\"><style>" + style + "</style>\n<p>" + html.EscapeString(p.headline()) + "</p>\n")
	p.writeSteps(&b)
	p.writeTimeline(&b)
	p.writePipelines(&b)
	b.WriteString("</div>\n")
	return b.String()
}

// HTML is the profile as a page that loads nothing: the steps with their measures, when each worker was
// at which step, and the pipelines.
func (p *Profile) HTML() string {
	return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Profile of a query</title></head><body>\n" + p.Fragment() + "</body></html>\n"
}

func (p *Profile) writeSteps(b *strings.Builder) {
	b.WriteString("<table><tr><th>time</th><th></th><th>waiting</th><th>rows in</th><th>rows out</th><th>estimate</th><th>batches</th><th>bytes out</th><th class=\"step\">step</th></tr>\n")
	all := max(p.busy(), 1)
	for _, r := range p.rows() {
		if r.title != "" {
			fmt.Fprintf(b, "<tr><th class=\"step\" colspan=\"9\">%s</th></tr>\n", html.EscapeString(r.title))
		}
		m := r.step.Total
		if m == nil {
			m = &Measure{}
		}
		guess := ""
		if rows, ok := p.estimate(r.step.ID); ok {
			guess = count(int64(rows + 0.5))
		}
		fmt.Fprintf(b, "<tr><td>%s</td><td style=\"text-align:left\"><span class=\"bar\" style=\"width:%dpx\"></span></td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td class=\"step\">%s%s%s</td></tr>\n",
			milliseconds(m.Busy), 80*m.Busy/all, milliseconds(m.Wait), count(m.RowsIn), count(m.RowsOut), guess, count(m.BatchesOut), size(m.BytesOut),
			strings.Repeat("  ", r.depth), key(r.step.ID), html.EscapeString(r.step.Text))
	}
	b.WriteString("</table>\n")
}

// key is the colour of a step as a square.
func key(step int) string {
	return "<span class=\"key\" style=\"background:" + colour(step) + "\"></span>"
}

// colour spreads steps over the circle of hues.
func colour(step int) string { return fmt.Sprintf("hsl(%d,60%%,%d%%)", step*137%360, 45+step%3*10) }

// writeTimeline draws a row for each worker, with what it did most in each slot of time; a slot
// in which it waited most is pale.
func (p *Profile) writeTimeline(b *strings.Builder) {
	if len(p.events) == 0 || p.Elapsed <= 0 {
		return
	}
	const left, wide, high = 160, 2, 16
	fmt.Fprintf(b, "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"What each worker did when\">\n", left+slots*wide, high*(len(p.Workers)+1))
	slot := max(p.Elapsed/slots, 1)
	most := p.mostInSlots(slot)
	for w, worker := range p.Workers {
		y := w * high
		fmt.Fprintf(b, "<text x=\"0\" y=\"%d\">%s</text>\n", y+high-4, html.EscapeString(worker.Name))
		for from := 0; from < slots; {
			to := from + 1
			for to < slots && most[w][to] == most[w][from] {
				to++
			}
			if m := most[w][from]; m.time {
				opacity := ""
				if m.at.wait {
					opacity = " opacity=\".2\""
				}
				fmt.Fprintf(b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"%s><title>%s</title></rect>\n", left+from*wide, y+2, (to-from)*wide, high-3,
					colour(m.at.step), opacity, html.EscapeString(p.markText(m.at)))
			}
			from = to
		}
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text></svg>\n", left, high*(len(p.Workers)+1)-4,
		left+slots*wide, high*(len(p.Workers)+1)-4, milliseconds(p.Elapsed))
}

func (p *Profile) markText(m Mark) string {
	if m.step >= len(p.Steps) {
		return ""
	}
	if m.wait {
		return "waiting: " + p.Steps[m.step].Text
	}
	return p.Steps[m.step].Text
}

// slotMost is what a worker did most in a slot; time is false where it was not there.
type slotMost struct {
	at   Mark
	time bool
}

// mostInSlots is what each worker did most in each slot.
func (p *Profile) mostInSlots(slot time.Duration) [][]slotMost {
	most := make([][]slotMost, len(p.Workers))
	sums := make([][slots]map[Mark]time.Duration, len(p.Workers))
	for w := range most {
		most[w] = make([]slotMost, slots)
	}
	for _, e := range p.events {
		for at := e.start / slot; at < slots && at*slot < e.end; at++ {
			in := sums[e.worker][at]
			if in == nil {
				in = map[Mark]time.Duration{}
				sums[e.worker][at] = in
			}
			in[e.at] += min(e.end, (at+1)*slot) - max(e.start, at*slot)
			if now := &most[e.worker][at]; !now.time || in[e.at] >= in[now.at] {
				*now = slotMost{e.at, true}
			}
		}
	}
	return most
}

func (p *Profile) writePipelines(b *strings.Builder) {
	for _, pipe := range p.Pipelines {
		b.WriteString("<pre>" + html.EscapeString(p.pipelineText(pipe)) + "</pre>\n")
	}
}
