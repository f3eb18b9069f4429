# Sourced after lib.sh, compiler.sh, packages.sh and opencl_tests.sh. The CUDA backend without a GPU: on the emulated
# driver of internal/cuemu, in several orders of threads and blocks; and the PTX, made again and assembled for each GPU.
# Installs g++ with apt-get, and fetches NVRTC and ptxas from PyPI into the ignored folder .cuda/ (60 MB).

# on_emulator SEED COMMAND...: the command on the emulated driver, whose log must stay empty.
on_emulator() {
	local log=$PWD/.cache/cuemu.log
	: >"$log"
	CUEMU_SEED=$1 CUEMU_LOG=$log CGO_ENABLED=0 VOLLEY_REQUIRE=cuda "${@:2}"
	if [ -s "$log" ]; then
		echo "the emulated driver found:" >&2
		head -n 40 "$log" >&2
		return 1
	fi
}

emulator_sections() {
	if ! packages g++ g++; then
		leave_out "the CUDA backend on the emulated driver" "$why"
		return
	fi
	section "CUDA: the emulated driver and the kernels for it"
	CGO_ENABLED=0 go test -count=1 ./internal/cuemu
	local variables
	variables=$(CGO_ENABLED=0 go run ./internal/cuemu/build)
	# In a shell of its own, so that the sections after do not see the variables.
	(
		eval "$variables"
		CUEMU_SEED=1 CGO_ENABLED=0 VOLLEY_REQUIRE=cuda go test -count=1 -timeout 20m ./device/cuda
	)
	section "CUDA on the emulated driver: the conformance suite, seed 1"
	(
		eval "$variables"
		on_emulator 1 go test -count=1 -timeout 20m ./kernels/cuda
	)
	section "CUDA on the emulated driver: two devices, in the natural order"
	(
		eval "$variables"
		on_emulator 0 env CUEMU_DEVICES=2 VOLLEY_KERNELTEST=tiny go test -count=1 -timeout 20m -run '^TestConformance$/.*/(Elementwise|Movement|Joins)' ./kernels/cuda
	)
	section "CUDA on the emulated driver: tables, files and expressions"
	(
		eval "$variables"
		on_emulator 4 env VOLLEY_BACKEND=cuda go test -count=1 -short -skip "$large_tables" -timeout 20m ./expr ./table ./table/storage
	)
	section "CUDA on the emulated driver: collectives of devices and columns, and over the emulated NCCL"
	(
		eval "$variables"
		on_emulator 6 env VOLLEY_BACKEND=cuda CUEMU_DEVICES=4 VOLLEY_NCCL_LIBRARY="$(go run ./internal/ncclemu/build)" \
			go test -count=1 -timeout 10m ./collective/transport/nccl ./collective/ondevice ./collective/columns
	)
	section "CUDA on the emulated driver: batches copied to the device, and gathered there"
	(
		eval "$variables"
		on_emulator 1 env VOLLEY_BACKEND=cuda go test -count=1 -timeout 10m -run '^(TestOnDevice|TestGathersOnDevice|TestGathersColumnsOnDevice|TestRefusedOnDevice|TestHostMakesForDevice)$' ./dataloader
	)
	# One run of each step: the answers are checked once, and times on an emulated driver say nothing.
	section "CUDA on the emulated driver: the main job on every device"
	(
		eval "$variables"
		on_emulator 5 env CUEMU_DEVICES=2 go run ./cmd/volley bench flights --runs 1 --json
	)
}

ptx_sections() {
	if ! wheel nvidia/cuda_nvrtc/lib/libnvrtc.so.12 nvidia-cuda-nvrtc-cu12==12.0.140; then
		leave_out "the PTX made again" "$why"
	else
		section "PTX: made again, byte for byte"
		CGO_ENABLED=0 go run ./internal/ptxgen -check
	fi
	if ! wheel nvidia/cu13/bin/ptxas nvidia-cuda-nvcc==13.0.88; then
		leave_out "the PTX assembled" "$why"
	else
		section "PTX: assembled for each GPU, without spills"
		CGO_ENABLED=0 go run ./internal/ptxgen -ptxas .cuda/nvidia/cu13/bin/ptxas
	fi
}
