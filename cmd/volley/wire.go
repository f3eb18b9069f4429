package main

import "github.com/volley-go/volley/bench/report"

// wire joins the commands to the library. It is the only place where the
// command names the packages that do its work.
func wire() deps {
	return deps{
		machine:   report.ThisMachine,
		calibrate: report.Calibrate,
	}
}
