package main

import (
	"fmt"
	"slices"

	"github.com/volley-go/volley/bench/report"
)

// query is a whole query on the CPU and on the device. Times are 0 where it was not run.
type query struct {
	name        string
	cpu, device float64
	right       string // of the device: "right", "wrong", "not checked", "not run"
}

// paired are the queries in the order in which they were run first.
func paired(all []record) []query {
	var each []query
	for _, r := range all {
		if r.Engine != "volley" || r.MinS == nil {
			continue
		}
		name := r.Suite + " " + r.Op
		if r.Way != "" {
			name += " from " + r.Way
		}
		i := slices.IndexFunc(each, func(q query) bool { return q.name == name })
		if i < 0 {
			each, i = append(each, query{name: name, right: "not run"}), len(each)
		}
		if r.Device == "cpu" {
			each[i].cpu = *r.MinS
			continue
		}
		each[i].device = *r.MinS
		switch {
		case r.OK == nil:
			each[i].right = "not checked"
		case *r.OK:
			each[i].right = "right"
		default:
			each[i].right = "wrong"
		}
	}
	return each
}

// beside is the table of the queries on the CPU and on the device.
func beside(all []record) report.Grid {
	g := report.Grid{
		Title:  "Whole queries: fastest runs",
		Header: []string{"query", "CPU", "device", "CPU over device", "answer"}, Left: []bool{true, false, false, false, true},
	}
	for _, q := range paired(all) {
		cpu, dev, ratio := "", "", ""
		if q.cpu > 0 {
			cpu = report.Seconds(q.cpu)
		}
		if q.device > 0 {
			dev = report.Seconds(q.device)
		}
		if q.cpu > 0 && q.device > 0 {
			ratio = fmt.Sprintf("%.2f", q.cpu/q.device)
		}
		g.Add(q.name, cpu, dev, ratio, q.right)
	}
	return g
}
