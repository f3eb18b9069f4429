// Command asmgen writes the assembly of kernels/cpu and of other packages (stems.go has
// their folders) and the Go declarations that go with it: for each stem and tier
// <stem>_<tier>_amd64.s and .go.
//
//	go generate ./kernels/cpu        # makes them again
//	bash scripts/asm.sh check        # fails where they differ from what is made
//
// It is a module of its own, so that nobody who uses the library gets avo.
//
// A stem is a file of this folder with a function that takes a *gen, and a line
// in stems (stems.go). The function says what each assembly function does by
// the plain Go loop it equals, which stands in kernels/cpu/loops_<stem>.go, or in
// internal/bitpack/loops.go, and is its documentation and its oracle. Generated functions take slices, look at
// no processor feature, and work on whole steps only: that the lengths fit is
// the caller's work, who does what is left over by the Go loop. So no load
// reaches beyond a slice.
//
// Names: the loop's name, the element type where there are several, and the
// tier: countAVX2, sumFloat64AVX512.
package main
