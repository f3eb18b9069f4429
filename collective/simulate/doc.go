// Package simulate runs collective operations over networks that are not there: the
// schedules are those of package collective/algorithm, the very code that a Comm
// runs, and only time is virtual. It answers what an algorithm costs on 16,384 ranks
// of a fat tree, which links it fills, what a slow rank does to it, and what the
// survivors of a dead rank learn and when.
//
// # Time
//
// A message costs what the LogGP model says (Alexandrov, Ionescu, Schauser and
// Scheiman, "LogGP: incorporating long messages into the LogP model", 1995), for
// each link of its way: an overhead on both processors, a latency a link, a time a
// byte. A link carries one message at a time, in the order in which they come to it;
// a message that waits for a link has left those behind it (cut-through, switches
// with room for what waits). A rank walks its schedule as a Comm does: local steps,
// posts, receives in order, and then it waits until what it sent may be changed.
// Where ranks are more than the processors of their node they take turns
// (processors.go). Seconds are float64; a run repeats exactly.
//
// # Results
//
// Vectors are not there either. Each rank's vector has some tracked positions, which
// move with the messages: a position holds what was combined into it, as a sum of
// random 64-bit words of the contributions, which is right only if every contribution
// is there just once (a chance of 2^-64 for each wrong one), and for those that keep
// an order as a product of words that does not commute. A run whose result is wrong
// is an error.
package simulate
