// Package algorithm has the schedules of the collective operations: for one
// rank of a call, the rounds of messages, copies and reductions that it takes
// part in. A schedule knows counts and ranks and nothing of memory, types or
// networks, so the same code moves real bytes (package collective), virtual time
// (the simulator) and sets of contributions (this package's tests, which prove
// that every result holds every contribution once).
//
// # Rounds
//
// A round's local steps come first, in order; then all its messages travel at
// once. Messages from one rank to another arrive in the order of the sender's
// schedule. A round never receives into a range that it sends from or that
// another of its messages arrives in.
//
// # The order of a reduction
//
// The canonical tree over n ranks is the one that recursive doubling makes:
// ranks [a, a+2^k) and [a+2^k, min(a+2^(k+1), n)), a a multiple of 2^(k+1), are
// combined at level k, the lower ranks on the left. With Call.Deterministic every
// schedule of an operation combines in just this order, whatever its shape: those
// whose own order is another one (ring, chain, doubletree) exchange what is to be
// reduced directly and fold it locally, and keep their shape for the rest.
package algorithm
