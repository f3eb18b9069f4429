// Package release stores words in release order without a full fence: what the
// goroutine wrote before is visible to whoever loads the new value. sync/atomic's
// stores are sequentially consistent, which on amd64 makes the processor wait until
// all earlier stores have reached the caches; where those go to lines that another
// processor has, that wait is most of a short message's cost.
//
// The price is that a later load of the same goroutine may come before the store.
// Where each of two goroutines stores a word and then looks at the other's, one of
// them has to use sync/atomic, or to look again later. Under the race detector, which
// knows sync/atomic only, the stores are its.
package release
