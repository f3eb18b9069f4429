// Package tune measures what messages cost over a transport and makes of it the
// machine of package simulate, the α-β-γ model of package algorithm and the tuning
// table of package collective.
//
// What is measured knows nothing of collective operations: one message there and
// back, messages both ways at once, several in a row, a message that is combined on
// arrival, a token that goes round more ranks than there are processors, and copies
// and sums without messages. Predictions of collective operations can therefore be
// held against times of them.
package tune
