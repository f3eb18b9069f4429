// Package worker starts programs of Python that race against ours, and asks them.
//
// A program is one engine behind a pipe: it is started with the engine's name and
// a number of threads, writes a line of JSON with its version, and then answers
// each line on its standard input, a command, with one line. A line with an error
// is an answer too: the program goes on. The end of its input ends it.
package worker
