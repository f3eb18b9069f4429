// Package stats says what columns are like: how many rows and nulls, between which
// bounds, how many distinct values; and from that how many rows the operators of a
// plan give. All of it is a guide to speed. Buffers may change after they were looked
// at, and a sample misses values, so nothing that a result depends on may rest on it.
package stats
