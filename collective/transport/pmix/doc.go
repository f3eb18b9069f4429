// Package pmix asks the PMIx server that started a process who it is, and hands the ranks'
// cards around through it, so that ranks meet that have nothing else: those of prun, or of
// mpirun and srun with all variables but PMIX_* taken away.
//
// OpenPMIx's library (libpmix.so.2, Debian's libpmix2) is loaded at run time; no header and
// no compiler is needed. VOLLEY_PMIX_LIBRARY names another one. What is used of it is
// PMIx_Init, Get, Put, Commit, Fence and Finalize of the PMIx standard 3 and later.
//
// Ranks may leave the server and meet again, where the library lets them. Their first meeting has a
// fence. In later ones ranks of one server ask for each other's cards until they are there, since a
// server miscounts ranks that have come back (OpenPMIx 4.2.2's does, on a busy machine); ranks of several
// servers have a fence after that.
//
// A process enters a library of version 5 once: what OpenPMIx 5.0.11 does on a second
// PMIx_Init corrupts its memory. A second Open is an error then.
//
// Calls of the library wait for as long as they like, and cannot be broken off. Each is made
// beside its caller, who waits until the context ends and then gets an error that says what
// was waited for; the Client can only be closed after that. Where the context has a deadline the
// server is told of it too (PMIX_TIMEOUT).
package pmix
