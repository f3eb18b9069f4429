#!/usr/bin/env bash
# What must hold before a change goes in, in at most 20 minutes on two processors with all downloads done: a test of every promise. scripts/exhaust.sh has
# the long rest. It stops at the first failure and prints at the end what each section took.
# The GPU backends run without a GPU: OpenCL on the processor, CUDA on an emulated driver; their PTX is made again and assembled (see devices.sh).
# Installs Go modules into Go's module cache; as root on Debian, with apt-get: gcc, g++, python3, python3-venv, PoCL and OpenCL's headers, CMake,
# pkg-config, Open MPI and PyTorch; from PyPI into the user's cache folder: NVIDIA's compilers and headers, the libraries to compare with and tpchgen-cli (see
# peers.sh), MPICH, Dask, and what builds and tests the Python package. CI=true makes leaving anything out a failure. `test.sh checks races` runs these jobs alone.
. "$(dirname "$0")/lib.sh"
. scripts/packages.sh
. scripts/checks.sh
. scripts/opencl.sh
. scripts/devices.sh
. scripts/tests.sh
. scripts/jobs.sh

# What is missing is downloaded while Go compiles. A section that finds it missing all the same tries again, waiting for its turn. Python comes first:
# the others want it.
downloads() {
	section "downloads: compilers, OpenCL, NVIDIA's compilers"
	c_compiler && packages g++ g++ || leave_out "compilers" "$why"
	python3_with_venv || leave_out "Python" "$why"
	opencl && opencl_headers || leave_out "OpenCL" "$why"
	wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140 && wheel nvidia/cu13/bin/ptxas nvidia-cuda-nvcc==13.0.88 ||
		leave_out "NVIDIA's compilers" "$why"
	section "downloads: libraries to compare with"
	bash scripts/python.sh environment
	bash scripts/engines.sh environment
	bash scripts/collective_peers.sh openmpi,mpich || leave_out "MPI" "collective_peers.sh could not install the libraries"
	packages pkg-config pkg-config && packages cmake cmake make || leave_out "CMake and pkg-config" "$why"
}

bindings() { bash scripts/bindings.sh test; }

engines() { bash scripts/engines.sh test; }

driver_tags() {
	bash scripts/gorgonia.sh build
	bash scripts/gogl.sh build
}

# Ranks wait for each other by looking: they want the processors for themselves.
mpi() {
	if bash scripts/collective_peers.sh openmpi,mpich; then
		section "collective operations over both MPIs"
		bash scripts/mpi.sh test
	else
		leave_out "collective operations over MPI" "collective_peers.sh could not install the libraries"
	fi
}

# Seconds of processor time each, as measured on Zen 4: 2,450, of which two processors have 2,400 in twenty minutes.
go version
job_beside 10 downloads
job 45 checks
job 690 races
job 105 cuda_kernels
job 215 kernel_tests
job 300 package_tests
job 315 bindings
job 335 cuda_tables
job 40 opencl_kernels
job 200 opencl_tables
job 5 driver_tags
job 70 ptx
job 45 engines
job_alone 35 rank_tests
job_alone 20 mpi
job_alone 20 main_job
run_jobs "$@"
finish
minutes=$(((SECONDS - started + 59) / 60))
[ $# != 0 ] || [ $minutes -le 20 ] || printf '\n== TOO LONG: %d minutes; a round has 20 on two processors with all downloads done\n' $minutes
