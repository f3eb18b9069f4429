package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/bench/report"
)

// collector keeps what a suite finds and writes it at once as lines of JSON,
// into nothing where they were not asked for: so a bad record fails either way.
type collector struct {
	lines *report.Writer

	mu      sync.Mutex
	records []report.Record
	answers []report.Answer
}

// Record implements report.Sink.
func (c *collector) Record(r report.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.lines.Record(r); err != nil {
		return err
	}
	c.records = append(c.records, r)
	return nil
}

// Answer implements report.Sink.
func (c *collector) Answer(a report.Answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.lines.Answer(a); err != nil {
		return err
	}
	c.answers = append(c.answers, a)
	return nil
}

// page gathers what was found.
func (c *collector) page(suite string, when time.Time, m report.Machine, b report.Bandwidth) *report.Page {
	return &report.Page{
		Title: "volley bench " + suite, When: when, Machine: m, Bandwidth: &b,
		Answers: c.answers, Records: c.records,
	}
}

// wrong returns an error that names the steps whose answer was wrong.
func (c *collector) wrong() error {
	var names []string
	for i := range c.records {
		if c.records[i].Wrong() {
			names = append(names, c.records[i].Label())
		}
	}
	if names == nil {
		return nil
	}
	return fmt.Errorf("wrong answers (%d): %s", len(names), strings.Join(names, "; "))
}

// printText prints the answers and the steps, with an empty line between two
// tables.
func printText(w io.Writer, p *report.Page) error {
	grids := []report.Grid{p.Machine.Grid()}
	for _, a := range p.Answers {
		if a.Grid != nil {
			grids = append(grids, *a.Grid)
		}
	}
	if len(p.Records) > 0 {
		grids = append(grids, report.Steps("Steps of "+strings.Join(suitesOf(p.Records), ", "), p.Records))
	}
	for i, g := range grids {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := g.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}

// suitesOf lists the suites of the records in order of first appearance.
func suitesOf(records []report.Record) []string {
	var names []string
	for i := range records {
		if !slices.Contains(names, records[i].Suite) {
			names = append(names, records[i].Suite)
		}
	}
	return names
}
