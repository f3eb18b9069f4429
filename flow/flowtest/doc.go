// Package flowtest is a kit for the operators, sinks and sources of pipelines, as kerneltest is one
// for kernels. A Subject is one of them as a query over sources. Run gives it rows in every form, in morsels of
// one row, of three and uncut, to 1, 2, 3 and 8 workers whose turns are shuffled, with a checker
// between any two steps and every state of a sink written and read again; and sources that fail, panic and never give,
// consumers that stop, contexts that end. Rows must be the same to the last bit, and nothing may be left
// behind.
package flowtest
