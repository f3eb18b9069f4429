// Command pipeline runs one query over the flights of testdata/flights in Go, turn by turn with the same query in Python, so that the two can be compared:
// each line of its input runs the query once, and is answered with a line of the nanoseconds that took, from the files to the collected table, and
// that table's rows and the sum of its first column of numbers.
//
//	pipeline FOLDER
//
// python -m volley.bench --go PIPELINE is the other side: it reads, filters, joins, groups and sorts in the same way.
package main
