package dataloader

import "runtime"

// letInRows is after how many rows a loop that lays out a table lets others in: some 100
// microseconds of 128 bytes a row.
const letInRows = 4096

// letIn lets whoever waits for a processor have this one. Loops that take all of them for
// longer call it some thousand times a second. A thread of another language that calls in
// to take a batch, which is there, would else wait until the scheduler takes a processor
// away from one of them, ten milliseconds; it does so for each of its calls.
func letIn() { runtime.Gosched() }
