// Package order says in which order the rows of data come in an epoch: shuffled,
// by blocks through a buffer, drawn by weights, stratified, or by groups.
//
// An Order is arithmetic: what stands at a position of an epoch is found from
// the position alone, so ranks, workers and a resumed training need no common
// state. What an order holds in memory is said by each; Shuffled holds nothing.
package order
