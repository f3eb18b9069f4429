// Package cuemu is an emulated CUDA driver for tests: a libcuda.so.1 (and a
// libnvrtc.so.12) that runs kernels on the processor, so that the CUDA backend is
// tested end to end on a machine without a GPU. Only tests and scripts use it; it
// needs g++ on Linux.
//
// The kernels are the CUDA texts themselves, compiled for the host by g++ with a
// header that gives CUDA's names (src/kernel) and with every load and store
// preceded by a call of a hook. The driver (src/driver) runs each CUDA thread on a
// stack of its own: warps of 32 lanes with shuffles and votes, several blocks
// resident at a time, all of them taking turns at memory accesses, in an order
// drawn from CUEMU_SEED. Work is done by a thread per stream and never at enqueue.
// Found and reported, with the kernel, block and thread, are: reads and writes
// outside of live memory, misaligned ones, barriers and warp operations that not
// all threads come to, kernels in which no thread gets on, integer division by
// zero, more shared memory or threads than CUDA allows, modules whose parameters
// differ from what the PTX declares. Memory starts as 0xAB.
//
// Not emulated: the PTX itself (a module's image is only held against the
// host-compiled kernels), the card's weaker order of memory operations, dynamic
// shared memory, graphs, textures. Blocks of one launch run on one thread of the
// host, so that a seed gives the same run again.
//
// The driver's settings are variables of the environment:
//
//	CUEMU_SEED=N           order of threads and blocks; 0, the natural one
//	CUEMU_DEVICES=N        devices (1)
//	CUEMU_MEMORY=BYTES     memory of each (4e9)
//	CUEMU_BLOCKS=N         resident blocks (4)
//	CUEMU_CAPABILITY=80    compute capability
//	CUEMU_PEERS=0          devices cannot reach each other's memory
//	CUEMU_TIMEOUT=SECONDS  how long a kernel may run (120)
//	CUEMU_FAIL=NAME:N:CODE the Nth call of NAME returns CODE; NAME is an entry
//	                       point such as cuMemAlloc_v2, or execute, the run of a
//	                       kernel on its stream; several with commas between
//	CUEMU_LOG=FILE         where faults are written (standard error)
//	CUEMU_KERNELS=FOLDER   the index of host-compiled kernels
//
// Besides the driver's entry points the library exports cuemuFail(name, nth, code)
// and cuemuCount(what), which src/driver/settings.cpp describes.
package cuemu
