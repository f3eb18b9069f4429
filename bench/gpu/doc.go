// Command gpu judges a run on a real GPU: it reads the lines that run.sh, volley
// and peers.py have written into a folder, prints a table of the parts of the run,
// one of the targets, reached or not, and one of whole queries on the CPU and on
// the device, and writes all of it into one file.
//
//	gpu FOLDER
//
// FOLDER has devices.jsonl, steps.jsonl, bench.jsonl, peers.jsonl and queries.jsonl,
// the last three perhaps empty, and gets gpu-check.json. A target that was not measured is
// said to be so, and on an emulated device none is judged. The folder is what
// belongs into bench/results.
package main
