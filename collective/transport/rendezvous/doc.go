// Package rendezvous is where the ranks of a world meet before they are connected:
// who they are comes from what started them (Environment: torchrun, Open MPI, PMI,
// Slurm, or VOLLEY_ADDRESS; Discover asks a PMIx server too), and Meet gives every rank what every other one wants to
// be known by, its card, such as the addresses that it listens on.
//
// The place is an address: tcp://host:port, where rank 0 listens for the others, or
// file://path, a file that all of them share. Either is left behind as it was found. A
// PMIx server is a place of its own, and so is the server of MPICH's mpiexec.
// A meeting is of one world: ranks of another one, of another size, or that are there
// already are refused, and what an earlier world left in a file is recognised. When the
// context ends first, the error names the ranks that did not come.
package rendezvous
