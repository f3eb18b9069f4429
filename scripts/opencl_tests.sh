# Sourced after lib.sh, compiler.sh, packages.sh and opencl.sh. What is built on the OpenCL device: kernels, tables, the main job, on PoCL with one device and
# with two, with cgo off and on; and the kernels on another OpenCL, with sub-groups.

# Left out of further runs of the tables' tests, and of that on the emulated CUDA driver (see cuda.sh): tests of four million rows and of a
# hundred million pairs, which take a minute and more there and depend neither on the number of devices nor on how the driver is called.
large_tables='^(TestPeakMemory|TestJoinOfManyPairs)$'

oclgrind_sections() {
	[ -n "${VOLLEY_REQUIRE:-}" ] || return 0
	section "OpenCL: two devices"
	POCL_DEVICES="pthread pthread" CGO_ENABLED=0 go test -count=1 ./device/opencl

	section "OpenCL: under Oclgrind"
	CGO_ENABLED=0 under_oclgrind go test -count=1 ./device/opencl
	# Fails too where an entry of a kernel's module is launched by none of its cases.
	CGO_ENABLED=0 under_oclgrind go test -count=1 -timeout 20m -run '^TestEntries$' ./kernels/gpu
	planted=$(VOLLEY_RACE=planted CGO_ENABLED=0 under_oclgrind go test -count=1 -run '^TestPlantedRace$' ./kernels/opencl 2>&1) && status=0 || status=$?
	if [ "$status" = 0 ] || [ "${planted/data race/}" = "$planted" ]; then
		printf '%s\n' "$planted" "Oclgrind does not see a race that was planted" >&2
		exit 1
	fi
}

opencl_sections() {
	if ! opencl; then
		leave_out "kernels on OpenCL" "$why_no_opencl"
		return
	fi
	section "OpenCL: tables, files and expressions"
	CGO_ENABLED=0 VOLLEY_BACKEND=opencl go test -count=1 -short -timeout 20m ./expr ./table ./table/storage

	section "OpenCL: collectives of devices and columns"
	CGO_ENABLED=0 VOLLEY_BACKEND=opencl go test -count=1 -timeout 10m -run '^(TestBackend|TestColumnsOfABackend|TestReduceOfABackend|TestDeathOfAsync|TestCanceledAsync|TestClosed|TestRefusesCounts|TestCountsDiffer)$' ./collective/ondevice ./collective/columns

	section "OpenCL: batches copied to the device"
	CGO_ENABLED=0 VOLLEY_BACKEND=opencl go test -count=1 -timeout 10m -run '^(TestOnDevice|TestGathersOnDevice|TestGathersColumnsOnDevice|TestRefusedOnDevice|TestHostMakesForDevice)$' ./dataloader

	section "OpenCL: two devices"
	POCL_DEVICES="pthread pthread" CGO_ENABLED=0 VOLLEY_REQUIRE=opencl VOLLEY_KERNELTEST=tiny go test -count=1 -timeout 20m ./kernels/opencl
	POCL_DEVICES="pthread pthread" CGO_ENABLED=0 go run ./cmd/volley bench flights --runs 1 --json

	if c_compiler; then
		# Kernels are called with cgo under the race detector (test.sh), or by gpu.sh. Tables are at once on the second of two devices: which device a
		# call is for, and how it is called, know nothing of each other.
		section "OpenCL: with cgo"
		POCL_DEVICES="pthread pthread" CGO_ENABLED=1 VOLLEY_BACKEND=opencl:1 \
			go test -count=1 -short -skip "$large_tables" -timeout 20m ./expr ./table ./table/storage
		CGO_ENABLED=1 go run ./cmd/volley bench flights --device opencl:0 --runs 1 --json
	else
		leave_out "OpenCL with cgo" "$why_no_compiler"
	fi
	subgroups_section
}

# What PoCL 3.1 has not got: warps made of sub-groups, and a second compiler and driver for all kernels. A test fails where sub-groups are not in use.
subgroups_section() {
	local devices
	section "OpenCL: sub-groups (Intel's runtime)"
	if ! intel_opencl; then
		leave_out "sub-groups on OpenCL" "$why_no_intel"
		return
	fi
	devices=$(CGO_ENABLED=0 under_intel go run ./cmd/volley devices)
	if [ "${devices/opencl:0 /}" = "$devices" ]; then
		printf "%s\n" "$devices"
		leave_out "sub-groups on OpenCL" "Intel's runtime offers no device on this processor"
		return
	fi
	CGO_ENABLED=0 VOLLEY_REQUIRE=opencl,subgroups VOLLEY_KERNELTEST=tiny \
		under_intel go test -count=1 -timeout 20m -skip '^TestPlanted|^TestConformance$/.*/^(Expressions|Support)$' ./device/opencl ./kernels/opencl ./kernels/gpu
	# A program is compiled for every expression, half of all that this compiler's time goes to: some of them.
	CGO_ENABLED=0 VOLLEY_REQUIRE=opencl,subgroups VOLLEY_KERNELTEST=least \
		under_intel go test -count=1 -timeout 20m -run '^TestConformance$/.*/^Expressions$' ./kernels/opencl
}
