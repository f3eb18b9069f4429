// Package report turns measurements into something a program, a terminal and a
// person can read.
//
// Every suite of "volley bench" describes one measured step as a [Record] and
// one computed result as an [Answer]. From these the package makes
//
//   - lines of JSON, one object a line ([Writer]), the machine-readable language;
//   - plain-text tables with aligned columns ([Grid.WriteText]);
//   - PNG charts ([Chart.WritePNG]);
//   - one HTML page that needs no network ([Page.WriteHTML]).
//
// It also holds what a suite needs to measure honestly: [Measure] times a
// function, [Calibrate] finds the bandwidth that the machine can reach,
// [ThisMachine] describes it, and [PeakRSS] reads the peak of resident memory.
//
// Units: seconds as float64, sizes in bytes as int64, GB/s with 1 GB = 1e9
// bytes. Sizes printed for people use binary units (1 MiB = 1,048,576 bytes).
package report
