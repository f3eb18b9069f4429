// Package tune measures what messages cost over a transport and makes of it the
// machine of package simulate, the α-β-γ model of package algorithm and the tuning
// table of package collective.
//
// What is measured knows nothing of collective operations: one message there and
// back, messages both ways at once, many in a row, a message that is combined on
// arrival, one that its sender has just written, one that finds its receiver at work, how many a lane holds, copies and sums
// without messages; and with more ranks than processors (Crowd) messages between ranks of
// one processor and of two, in turn, to ranks that sleep, and around three ranks, which tell what it
// costs when ranks take turns. Predictions of collective operations can therefore be held
// against times of them.
//
// A virtual machine's host moves its processors. Where ranks are pinned, figures and times are all taken in one of its
// states (host.go).
package tune
