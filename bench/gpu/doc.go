// Command gpu judges a run on a real GPU: it reads the lines that run.sh, volley
// and peers.py have written into a folder, prints a table of the parts of the run
// and one of the targets, reached or not, and writes all of it into one file.
//
//	gpu FOLDER
//
// FOLDER has devices.jsonl, steps.jsonl, bench.jsonl and peers.jsonl, the last
// two perhaps empty, and gets gpu-check.json. A target that was not measured is
// said to be so, and on an emulated device none is judged. The folder is what
// belongs into bench/results.
package main
